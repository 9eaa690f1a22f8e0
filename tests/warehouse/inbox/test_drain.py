from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpus import CORPUS, read_dump
from tests.support.cross_section import cross_section
from tests.support.etrecord_builder import MODELS
from tests.support.kills import kill_at
from tests.support.store_inbox import hand_over, names_in_inbox
from tests.support.stores import MANIFEST, contents, ingest, write
from tests.support.tiny_dumps import stored_event_counts, tiny_dump, tiny_incoming
from tracehouse import Inbox, Warehouse
from tracehouse.ingest.dump import Dump, HashedFile
from tracehouse.ingest.manifest.models import Manifest
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.engine.store_file import FILE_NAME
from tracehouse.warehouse.errors import StoreError
from tracehouse.warehouse.inbox import drain as draining
from tracehouse.warehouse.inbox.log import distrust_log, seal_logs
from tracehouse.warehouse.load import batches, pipeline
from tracehouse.warehouse.load.summary import IngestProgress

STATED = Manifest.model_validate(MANIFEST)


@pytest.fixture
def warehouse(store: Path) -> Iterator[Warehouse]:
    with Warehouse.open(store) as warehouse:
        yield warehouse


def damage(store: Path, offset: int, data: bytes) -> Path:
    """Overwrite some of the one log in an inbox, and forget that this process wrote it."""
    (path,) = (store / "inbox").glob("*.log")
    distrust_log(path)
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(data)
    return path


def test_a_clock_that_jumps_back_costs_no_dump_and_no_order_of_conflicts(
    warehouse: Warehouse, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Logs are named after the time, and drained in the order of their names."""
    times = iter([4 * 10**18, 10**18, 2 * 10**18])
    monkeypatch.setattr("tracehouse.warehouse.inbox.log.time.time_ns", lambda: next(times))
    other = Manifest.model_validate(MANIFEST | {"build": "b2"})
    for dump in (tiny_incoming(1), tiny_incoming(2), tiny_incoming(2, manifest=other)):
        with Inbox.open(store) as inbox:
            inbox.accept(dump)
    assert [path.name[:1] for path in seal_logs(store / "inbox")] == ["0", "0", "0"]
    summary = warehouse.drain()
    assert (summary.n_dumps, summary.n_conflicts) == (2, 1)


@pytest.mark.slow
def test_drained_dumps_are_stored_as_if_their_files_were_ingested(
    store: Path, tmp_path: Path
) -> None:
    name = "multiout_portable_n3_debug"
    data, buffer = read_dump(f"real/{name}"), (CORPUS / f"real/{name}.debug.bin").read_bytes()
    record = (MODELS / "multiout_portable.etrecord").read_bytes()
    files = tmp_path / "in"
    write(files / f"{name}.etdp", data)
    write(files / f"{name}.debug.bin", buffer)
    write(files / f"{name}.etrecord", record)
    write(files / "bad.etdp", b"no dump")
    ingest(tmp_path / "other", files)
    hand_over(
        store,
        Dump.of_bytes("bad.etdp", b"no dump", STATED),
        Dump.of_bytes(f"{name}.etdp", data, STATED, etrecord=record, debug_buffer=buffer),
    )
    with Warehouse.open(store) as warehouse:
        summary = warehouse.drain()
    assert (summary.n_files, summary.n_dumps, len(summary.refused)) == (2, 1, 1)
    assert without_names(contents(store)) == without_names(contents(tmp_path / "other"))
    assert names_in_inbox(store) == []


def test_dumps_in_from_many_sides_at_once_are_in_once(store: Path) -> None:
    with Inbox.open(store) as one, Inbox.open(store) as other, ThreadPoolExecutor(8) as pool:
        dumps = [tiny_incoming(i % 20, f"{i}.etdp") for i in range(100)]
        accepts = [one.accept, other.accept] * 50
        list(pool.map(lambda accept, dump: accept(dump), accepts, dumps))
    with Warehouse.open(store) as warehouse:
        summary = warehouse.drain()
    assert (summary.n_files, summary.n_dumps, summary.n_duplicates) == (100, 20, 80)
    assert len(stored_event_counts(store)) == 20


def test_dumps_handed_over_during_a_drain_are_for_the_next_one(
    warehouse: Warehouse, store: Path
) -> None:
    with Inbox.open(store) as inbox:
        inbox.accept(tiny_incoming(1))
        done = warehouse.drain(progress=lambda _: inbox.accept(tiny_incoming(2)) and None)
        assert (done.n_dumps, warehouse.drain().n_dumps) == (1, 1)


@pytest.mark.slow
@pytest.mark.parametrize("bound", ["_ROUND_BYTES", "_ROUND_LOGS"])
def test_logs_of_one_round_are_gone_before_the_next_is_looked_through(
    warehouse: Warehouse, store: Path, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    monkeypatch.setattr(draining, bound, 1)
    hand_over(store, tiny_incoming(1))
    hand_over(store, tiny_incoming(2), Dump.of_bytes("bad", b"no dump", STATED))
    seen: list[tuple[IngestProgress, int]] = []
    summary = warehouse.drain(progress=lambda done: seen.append((done, len(names_in_inbox(store)))))
    counts = [(one.done_files, one.total_files, n_left) for one, n_left in seen]
    assert counts == [(1, 1, 4), (3, 3, 2)]  # a log and its tally each
    assert (summary.n_dumps, len(summary.refused)) == (2, 1)


def test_a_log_is_gone_when_its_own_dumps_are_committed(
    warehouse: Warehouse, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "BATCH_FILES", 2)
    monkeypatch.setattr(pipeline, "COMMIT_BATCHES", 1)
    hand_over(store, *map(tiny_incoming, range(3)))
    hand_over(store, *map(tiny_incoming, range(3, 5)))
    seen: list[tuple[int, int]] = []
    warehouse.drain(
        progress=lambda done: seen.append((done.done_files, len(names_in_inbox(store))))
    )
    assert seen == [(2, 4), (4, 4), (5, 2)]  # a log and its tally each
    assert names_in_inbox(store) == []


def test_a_log_stays_where_its_dumps_went_into_a_store_that_is_gone(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "COMMIT_BATCHES", 1)
    monkeypatch.setattr(batches, "BATCH_FILES", 1)
    hand_over(store, tiny_incoming(1))
    hand_over(store, tiny_incoming(2))
    with (
        pytest.raises(StoreError, match="deleted or replaced"),
        Warehouse.open(store) as warehouse,
    ):
        warehouse.drain(progress=lambda _: (store / FILE_NAME).unlink(missing_ok=True))
    assert [Path(name).suffix for name in names_in_inbox(store)] == [".sealed", ".tally"]


def test_dumps_that_could_not_be_committed_stay_in_the_inbox(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hand_over(store, tiny_incoming(1))
    with Warehouse.open(store) as warehouse, monkeypatch.context() as patched:
        patched.setattr(pipeline.Committer, "commit", lambda *_: _fail())
        with pytest.raises(StoreError, match="No space left"):
            warehouse.drain()
    with Warehouse.open(store) as warehouse:
        assert warehouse.drain().n_dumps == 1


def test_a_dump_that_cannot_be_read_for_want_of_memory_stops_the_drain_and_stays(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_hashed = Dump.read_hashed

    def run_out(dump: Dump) -> HashedFile:
        if dump.name == "2.etdp":
            raise MemoryError
        return read_hashed(dump)

    for first in (0, 2, 4):
        hand_over(store, *map(tiny_incoming, range(first, first + 2)))
    with Warehouse.open(store) as warehouse, monkeypatch.context() as patched:
        patched.setattr(Dump, "read_hashed", run_out)
        with pytest.raises(MemoryError):
            warehouse.drain()
    assert len(names_in_inbox(store)) >= 2
    with Warehouse.open(store) as warehouse:
        summary = warehouse.drain()
        assert (summary.refused, warehouse.query("ingest_errors").num_rows) == ((), 0)
    assert len(stored_event_counts(store)) == 6


def test_a_damaged_record_is_refused_kept_and_harms_no_other(
    warehouse: Warehouse, store: Path
) -> None:
    hand_over(store, *map(tiny_incoming, range(3)))
    path = damage(store, 3, b"\xff")
    summary = warehouse.drain()
    assert summary.n_dumps == 2
    ((source, sha256, reason, _, detail, *_),) = summary.refused
    kept = store / "inbox/damaged" / f"{path.stem}-0.bytes"
    assert (source, sha256, reason) == (f"{path.with_suffix('.sealed')}: offset 0", None, "damaged")
    assert f"kept as {kept}; submit its dumps again" in detail
    assert kept.read_bytes()[3] == 0xFF
    recorded = warehouse.sql("SELECT source, reason, detail FROM ingest_errors").to_pylist()
    assert recorded == [{"source": source, "reason": reason, "detail": detail}]


def test_damage_in_a_later_log_harms_no_other(warehouse: Warehouse, store: Path) -> None:
    hand_over(store, *map(tiny_incoming, range(2)))
    seal_logs(store / "inbox")
    hand_over(store, *map(tiny_incoming, range(2, 4)))
    path = damage(store, 3, b"\xff")
    hand_over(store, tiny_incoming(4))
    summary = warehouse.drain()
    assert (summary.n_dumps, [one.reason for one in summary.refused]) == (4, ["damaged"])
    assert names_in_inbox(store) == ["damaged"]
    assert (store / "inbox/damaged" / f"{path.stem}-0.bytes").exists()


def test_an_unreadable_log_does_not_lose_dumps_of_earlier_logs(store: Path) -> None:
    hand_over(store, *map(tiny_incoming, range(2)))
    unreadable = store / "inbox" / f"{'9' * 20}-{'0' * 16}.sealed"
    unreadable.mkdir()
    with (
        Warehouse.open(store) as warehouse,
        pytest.raises(StoreError, match="the dumps in it are safe"),
    ):
        warehouse.drain()
    unreadable.rmdir()
    with Warehouse.open(store) as warehouse:
        warehouse.drain()
    assert len(stored_event_counts(store)) == 2
    assert names_in_inbox(store) == []


def test_a_torn_end_is_noted_and_kept(warehouse: Warehouse, store: Path) -> None:
    hand_over(store, tiny_incoming(1))
    (path,) = (store / "inbox").glob("*.log")
    size = path.stat().st_size
    with open(path, "ab") as file:
        file.write(path.read_bytes()[:99])
    summary = warehouse.drain()
    assert (summary.n_dumps, summary.refused) == (1, ())
    assert f"offset {size}: ends in an incomplete record: these 99 bytes" in summary.notes[0]
    assert (store / "inbox/damaged" / f"{path.stem}-{size}.torn").stat().st_size == 99


@pytest.mark.smoke
@pytest.mark.parametrize(
    "point", cross_section(["log seal", "claim", "decoded", "commit", "log clear"], 5)
)
def test_the_next_drain_completes_a_killed_one(store: Path, point: str) -> None:
    hand_over(store, *map(tiny_incoming, range(2)))
    hand_over(store, *map(tiny_incoming, range(2, 4)))
    kill_at(f"{point}:1", lambda: Warehouse.open(store).drain())
    with Warehouse.open(store) as warehouse:
        warehouse.drain()
    assert len(stored_event_counts(store)) == 4
    assert len([one for _, one in Archive(store).entries() if one.kind == "dump"]) == 4
    assert names_in_inbox(store) == []


def without_names(rows: dict[str, list[tuple[Any, ...]]]) -> dict[str, list[tuple[Any, ...]]]:
    """Rows of tables, but for what files were called."""
    sources = {"dumps", "etrecords", "debug_buffers", "ingest_errors"}
    return {name: len(found) if name in sources else found for name, found in rows.items()}  # type: ignore[misc]


def _fail() -> None:
    raise StoreError("disk", "No space left on device")


def test_a_dump_is_read_from_the_log_alone(warehouse: Warehouse, store: Path) -> None:
    data = bytearray(tiny_dump(1))
    hand_over(store, Dump.of_bytes("a", memoryview(data), STATED))
    data[:] = bytes(len(data))
    assert warehouse.drain().n_dumps == 1
