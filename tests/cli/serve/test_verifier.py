from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.corpus import read_dump
from tests.support.etrecord_builder import MODELS
from tests.support.service import service_of, serving
from tests.support.stores import ingest, write, writing
from tests.support.tiny_dumps import tiny_dump
from tests.support.uploads import sha256_of
from tests.support.waiting import until
from tracehouse.warehouse.errors import StoreError


@pytest.fixture
def store(tmp_path: Path) -> Path:
    ingest(tmp_path / "store", write(tmp_path / "a.etdp", tiny_dump(0)))
    return tmp_path / "store"


def test_wrong_rows_are_found_while_no_dumps_wait_and_told_everywhere(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with writing(store) as connection:
        connection.execute("UPDATE events SET duration_ticks = duration_ticks + 1")
        connection.execute("UPDATE event_signatures SET kind = 'wrong'")
    with serving(store, verify_seconds=0.1) as client:
        verifier = service_of(client).verifier
        until(lambda: verifier.verified)
        until(lambda: verifier.damaged_dumps() == 1)
        figures = client.get("/metrics").text
        status = client.get("/v1/status").json()
        dumps = {"dumps": [sha256_of(tiny_dump(0))]}
        assert client.post("/v1/upkeep/rebuild", json=dumps).is_success
        until(lambda: verifier.damaged_dumps() == 0)
    assert "tracehouse_damaged_dumps 1.0" in figures
    assert "tracehouse_damaged_tables 1.0" in figures
    assert status[0]["damaged_dumps"] == 1
    told = capsys.readouterr().err
    assert "a.etdp: events: rows were changed since they were written" in told
    assert "shared rows: event_signatures: rows differ from the archive" in told
    assert "run 'tracehouse store rebuild" in told


def test_a_service_that_is_never_idle_is_verified(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracehouse.warehouse.consumer.Consumer.is_idle", False)
    with serving(store, verify_seconds=0.05) as client:
        until(lambda: service_of(client).verifier.verified)


def test_a_store_that_cannot_be_read_is_noted_and_tried_again(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise StoreError("store", "the disk fails")

    monkeypatch.setattr("tracehouse.cli.serve.verifier.verify_store", fail)
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
        verifier = service_of(client).verifier
        until(lambda: verifier.verified > 1)
        assert (verifier.damaged_dumps(), verifier.damaged_tables) == (0, set())
