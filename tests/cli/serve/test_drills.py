from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.service import serving
from tests.support.stores import ingest, write, writing
from tests.support.tiny_dumps import tiny_dump
from tests.support.waiting import until
from tracehouse.cli.serve import verifier
from tracehouse.cli.serve.verifier import NightlyDrill
from tracehouse.warehouse.errors import StoreError
from tracehouse.warehouse.upkeep.drill_record import keep_record, read_record


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store of one dump, with a snapshot."""
    ingest(tmp_path / "store", write(tmp_path / "a.etdp", tiny_dump(0)), snapshot=True)
    return tmp_path / "store"


def publish() -> Future[object]:
    """As for a store that has a new snapshot already."""
    done: Future[object] = Future()
    done.set_result(None)
    return done


def figures(text: str) -> dict[str, float]:
    lines = (line.split() for line in text.splitlines() if line.startswith("tracehouse_drill_"))
    return {name.removeprefix("tracehouse_drill_"): float(value) for name, value in lines}


def test_a_service_drills_and_tells_wrong_rows_everywhere(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with writing(store) as connection:
        connection.execute("UPDATE events SET duration_ticks = duration_ticks + 1")
    with serving(store, verify_seconds=0.1) as client:
        before = figures(client.get("/metrics").text)
        until(lambda: read_record(store))
        after = figures(client.get("/metrics").text)
        ((status),) = client.get("/v1/status").json()
    assert before == {"success_timestamp_seconds": 0, "dumps": 0, "differences": 0}
    assert after == {"success_timestamp_seconds": 0, "dumps": 1, "differences": 1}
    assert (status["drill_differences"], status["drill_succeeded_at"]) == (1, None)
    told = capsys.readouterr().err
    assert "a.etdp: events: rows differ from those that a rebuild gives" in told
    assert "to mend the store, run 'tracehouse store rebuild --dumps" in told


def test_a_drill_without_a_difference_is_a_success_and_comes_once_a_day(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = datetime.now(UTC).timestamp()
    drill = NightlyDrill(store, publish, threading.Event())
    drill.run_if_due()
    record = read_record(store)
    assert record
    assert (record.difference_count, record.dump_count) == (0, 1)
    assert record.succeeded_at >= start
    monkeypatch.setattr(verifier, "ChildProcess", pytest.fail)
    drill.run_if_due()


def started(monkeypatch: pytest.MonkeyPatch, change: Callable[[Any], None]) -> list[Any]:
    """Processes that are started from now on, each of which `change` gets."""
    start, found = verifier.ChildProcess, []

    def start_changed(*args: Any, **options: Any) -> Any:
        found.append(start(*args, **options))
        change(found[-1])
        return found[-1]

    monkeypatch.setattr(verifier, "ChildProcess", start_changed)
    return found


def test_a_process_that_dies_is_told_and_the_drill_can_be_repeated(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        started(patched, lambda child: os.kill(child.process.pid, signal.SIGKILL))
        drill = NightlyDrill(store, publish, threading.Event())
        with pytest.raises(StoreError, match="process of the rebuild drill died of SIGKILL"):
            drill.run_if_due()
    assert read_record(store) is None
    drill.run_if_due()
    assert read_record(store)


def test_a_drill_that_fails_is_told(store: Path) -> None:
    (store / "snapshots").rename(store / "kept")
    (store / "snapshots").mkdir()
    (store / "warehouse.duckdb").write_bytes(b"DUCK" * 10_000)
    for snapshot in (store / "kept").iterdir():
        (store / "snapshots" / snapshot.name).write_bytes(b"DUCK" * 10_000)
    with pytest.raises(StoreError, match="the rebuild drill failed: "):
        NightlyDrill(store, publish, threading.Event()).run_if_due()
    assert read_record(store) is None


def test_a_service_that_ends_does_not_wait_for_its_drill_and_leaves_no_scratch(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending = threading.Event()
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))

    def stop(child: Any) -> None:
        os.kill(child.process.pid, signal.SIGSTOP)
        ending.set()

    children = started(monkeypatch, stop)
    NightlyDrill(store, publish, ending).run_if_due()
    assert [child.process.poll() for child in children] == [-signal.SIGKILL]
    assert [*(tmp_path / "temporary").iterdir()] == []
    assert read_record(store) is None


def test_yesterday_s_drill_does_not_count_for_today(store: Path) -> None:
    keep_record(store, datetime(2026, 1, 1, tzinfo=UTC).date(), dump_count=7, difference_count=0)
    NightlyDrill(store, publish, threading.Event()).run_if_due()
    record = read_record(store)
    assert record
    assert (record.night > "2026-01-01", record.dump_count) == (True, 1)
