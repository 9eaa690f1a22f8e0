from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpus import read_dump
from tests.support.etrecord_builder import MODELS
from tests.support.service import service_of, serving
from tests.support.stores import ingest, write, writing
from tests.support.tiny_dumps import tiny_dump
from tests.support.waiting import until
from tracehouse.cli.serve import verifier as verification
from tracehouse.cli.serve.verifier import Verifier
from tracehouse.warehouse.errors import StoreError
from tracehouse.warehouse.upkeep.verification_record import read_record


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store of one dump, with a snapshot."""
    ingest(tmp_path / "store", write(tmp_path / "a.etdp", tiny_dump(0)), snapshot=True)
    return tmp_path / "store"


def test_wrong_rows_are_reported_everywhere_despite_a_correct_snapshot(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with writing(store) as connection:
        connection.execute("UPDATE events SET duration_ticks = duration_ticks + 1")
        connection.execute("UPDATE event_signatures SET kind = 'wrong'")
    with serving(store, verify_seconds=0.1) as client:
        until(lambda: read_record(store).dumps)
        figures = client.get("/metrics").text
        ((status),) = client.get("/v1/status").json()
    assert "tracehouse_damaged_dumps 1.0" in figures
    assert "tracehouse_damaged_tables 1.0" in figures
    assert "tracehouse_verify_success_timestamp_seconds 0.0" in figures
    assert (status["damaged_dumps"], status["damaged_tables"]) == (1, 1)
    told = capsys.readouterr().err
    assert "a.etdp: events: rows differ from those that a rebuild gives" in told
    assert "shared rows: event_signatures: rows differ" in told
    assert "stop the service and run 'tracehouse store rebuild'" in told


def test_a_service_that_is_never_idle_is_verified(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracehouse.warehouse.consumer.Consumer.is_idle", False)
    with serving(store, verify_seconds=0.05) as client:
        until(lambda: service_of(client).verifier.verified)
        ((status),) = client.get("/v1/status").json()
    assert status["verified_at"]


def test_a_store_that_cannot_be_read_is_noted_and_tried_again(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise StoreError("store", "the disk fails")

    monkeypatch.setattr(Verifier, "_verify_apart", fail)
    with serving(store, verify_seconds=0.05):
        told: list[str] = []

        def is_noted() -> bool:
            told.append(capsys.readouterr().err)
            return "".join(told).count("dumps cannot be verified: store: the disk fails") >= 2

        until(is_noted)


def test_files_of_others_are_decoded_again_by_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("the service decodes a file")

    write(tmp_path / "in/a.etdp", read_dump("real/mixed_xnnpack_n20"))
    shutil.copy(MODELS / "mixed_xnnpack.etrecord", tmp_path / "in/a.etrecord")
    ingest(tmp_path / "store", tmp_path / "in")
    monkeypatch.setattr("tracehouse.warehouse.programs.reader.decode_etrecord", fail)
    monkeypatch.setattr("tracehouse.warehouse.load.content.decode_dumps", fail)
    with serving(tmp_path / "store", verify_seconds=0.05) as client:
        until(lambda: service_of(client).verifier.verified)
        answer = client.post("/v1/upkeep/verify", json={"share": 1})
        while answer.status_code == 202:
            answer = client.get(f"/v1/upkeep/{answer.json()['id']}")
        assert (answer.status_code, answer.json()) == (200, [])
    record = read_record(tmp_path / "store")
    assert (record.dumps, record.tables) == ({}, [])


def started(monkeypatch: pytest.MonkeyPatch, change: Callable[[Any], None]) -> list[Any]:
    """Processes that are started from now on, each of which `change` gets."""
    start, found = verification.ChildProcess, []

    def start_changed(*args: Any, **options: Any) -> Any:
        found.append(start(*args, **options))
        change(found[-1])
        return found[-1]

    monkeypatch.setattr(verification, "ChildProcess", start_changed)
    return found


def test_a_dead_verifying_process_is_reported_and_its_dumps_are_verified_later(store: Path) -> None:
    with serving(store) as client:
        verifier = service_of(client).verifier
        with pytest.MonkeyPatch.context() as patched:
            started(patched, lambda child: os.kill(child.process.pid, signal.SIGKILL))
            with pytest.raises(StoreError, match="process that verifies dumps died of SIGKILL"):
                verifier.verify()
        assert not read_record(store).succeeded_at
        verifier.verify()
        assert (read_record(store).turn, verifier.verified) == (1, 1)


def test_a_verification_that_fails_is_reported(store: Path) -> None:
    with serving(store) as client:
        verifier = service_of(client).verifier
        verifier.verify()
        for segment in (store / "archive").glob("*.parquet"):
            segment.write_bytes(b"PAR1" * 10)
        (store / "verified.json").unlink()
        with pytest.raises(StoreError, match="is damaged or gone"):
            verifier.verify()
    assert not read_record(store).succeeded_at


def test_a_service_that_ends_does_not_wait_for_its_verification_and_leaves_no_scratch(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    with serving(store) as client:
        verifier = service_of(client).verifier
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))

        def stop(child: Any) -> None:
            os.kill(child.process.pid, signal.SIGSTOP)
            verifier._ending.set()

        children = started(monkeypatch, stop)
        verifier.verify()
        assert [child.process.poll() for child in children] == [-signal.SIGKILL]
        assert [*(tmp_path / "temporary").iterdir()] == []
    assert not read_record(store).succeeded_at
