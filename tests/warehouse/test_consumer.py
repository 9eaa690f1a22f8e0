from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.etdump_builder import build_etdump
from tests.support.failing_checkpoints import ALWAYS, failing_checkpoints
from tests.support.full_disk import full_disk
from tests.support.stores import ingest, make_old, write
from tests.support.tiny_dumps import stored_event_counts, tiny_dump, tiny_incoming
from tests.support.waiting import until
from tracehouse import Inbox, Warehouse
from tracehouse.ingest.dump import Dump, Refusal
from tracehouse.warehouse import consumer as module
from tracehouse.warehouse.consumer import Consumer
from tracehouse.warehouse.engine.failed_checkpoints import read_failures
from tracehouse.warehouse.errors import FailedCheckpointError, FullDiskError, StoreError
from tracehouse.warehouse.load.dump_rows import DumpRows
from tracehouse.warehouse.load.summary import IngestProgress, IngestSummary
from tracehouse.warehouse.opening.doors import open_snapshot
from tracehouse.warehouse.opening.snapshots import find_snapshots

QUICK: Any = {"batch_dumps": 1, "batch_seconds": 0.02, "snapshot_seconds": 3600.0}


@contextmanager
def consuming(store: Path, **settings: Any) -> Iterator[tuple[Consumer, Inbox]]:
    with (
        Warehouse.open_to_write(store) as warehouse,
        Inbox.open(store) as inbox,
        Consumer(warehouse, store, **{**QUICK, **settings}) as consumer,
    ):
        yield consumer, inbox


def give(consumer: Consumer, inbox: Inbox, incoming: Dump) -> str:
    sha256 = inbox.accept(incoming)
    consumer.known.accept(sha256, incoming.manifest().canonical_json(), incoming.byte_count)
    consumer.count_accepted()
    return sha256


def limit_of(warehouse: Warehouse) -> str:
    with warehouse.writing.cursor() as cursor:
        ((limit,),) = cursor.execute("SELECT current_setting('memory_limit')").fetchall()
    return str(limit)


@pytest.mark.smoke
def test_dumps_that_are_given_are_indexed_and_counted(store: Path) -> None:
    with consuming(store) as (consumer, inbox):
        sha256 = give(consumer, inbox, tiny_incoming(1))
        give(consumer, inbox, Dump.of_bytes("bad", b"bad", tiny_incoming(1).manifest()))
        until(lambda: consumer.known.backlog_dumps == 0)

        assert (consumer.accepted, consumer.indexed.total()) == (2, 1)
        assert consumer.refused == {"truncated": 1}
        assert consumer.drain_seconds > 0
        assert not consumer.known.is_waiting(sha256)
        assert sha256 in consumer.known.manifests([sha256])
        assert consumer.known.lag_seconds == 0


@pytest.mark.parametrize(("byte_count", "limit"), [(10, "64.0 MiB"), (2 << 20, "160.0 MiB")])
def test_two_threads_may_append_the_events_of_large_dumps(
    store: Path, monkeypatch: pytest.MonkeyPatch, byte_count: int, limit: str
) -> None:
    drain, limits = Warehouse.drain, list[str]()

    def look(warehouse: Warehouse, **how: Any) -> IngestSummary:
        limits.append(limit_of(warehouse))
        return drain(warehouse, **how)

    monkeypatch.setattr(Warehouse, "drain", look)
    with consuming(store, batch_seconds=3600.0) as (consumer, inbox):
        until(lambda: consumer.is_caught_up)
        bad = Dump.of_bytes("bad", bytes(byte_count), tiny_incoming(1).manifest())
        give(consumer, inbox, bad)
        until(lambda: bool(consumer.refused))
    assert limits == [limit]


@pytest.mark.slow
def test_duckdb_has_the_memory_that_long_values_need(store: Path) -> None:
    manifest = tiny_incoming(1).manifest()

    def bring_in(dumps: list[bytes]) -> None:
        with consuming(store, batch_dumps=4, snapshot_seconds=0.0) as (consumer, inbox):
            for dump in dumps:
                give(consumer, inbox, Dump.of_bytes("a", dump, manifest))
            until(lambda: consumer.known.backlog_dumps == 0 or consumer.problem is not None)
            assert (consumer.problem, consumer.indexed.total()) == (None, len(dumps))

    bring_in([dump_of_values(number, count=8, byte_count=1 << 20) for number in range(12)])
    bring_in([dump_of_values(12, count=1, byte_count=16)])  # which DuckDB puts beside the others


def dump_of_values(number: int, *, count: int, byte_count: int) -> bytes:
    """A dump with values that are large and do not pack well, in delegates' metadata."""
    made = random.Random(number)  # noqa: S311 - nothing secret
    events = [
        {
            "profile_event": {
                "name": "a",
                "instruction_id": at,
                "start_time": 1000 * at,
                "end_time": 1000 * at + 500,
                "delegate_debug_id_str": "d",
                "delegate_debug_metadata": made.randbytes(byte_count),
            }
        }
        for at in range(count)
    ]
    return build_etdump({"version": 0, "run_data": [{"name": "Execute", "events": events}]})


def test_dumps_that_were_in_the_inbox_before_are_indexed_first(store: Path) -> None:
    with Inbox.open(store) as inbox:
        inbox.accept(tiny_incoming(1))

    with consuming(store, batch_seconds=3600, batch_dumps=10) as (consumer, _):
        until(lambda: consumer.is_caught_up)
        assert consumer.indexed.total() == 1


@pytest.mark.slow
def test_few_dumps_that_are_large_do_not_wait_for_more(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BATCH_BYTES", len(tiny_dump(1) + tiny_dump(2)))
    with consuming(store, batch_seconds=3600, batch_dumps=10) as (consumer, inbox):
        until(lambda: consumer.is_caught_up)
        give(consumer, inbox, tiny_incoming(1))
        assert consumer.indexed.total() == 0
        give(consumer, inbox, tiny_incoming(2))
        until(lambda: consumer.indexed.total() == 2)


def test_dumps_that_are_left_at_the_end_are_indexed_and_published(store: Path) -> None:
    with consuming(store, batch_seconds=3600, batch_dumps=10) as (consumer, inbox):
        until(lambda: consumer.is_caught_up and bool(find_snapshots(store)))
        give(consumer, inbox, tiny_incoming(1))

    assert len(stored_event_counts(store)) == 1
    assert len(find_snapshots(store)) == 2


def test_refusals_are_recorded_and_stay_if_they_cannot_be(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_RETRY_SECONDS", 0.01)
    record, refusal = Warehouse.record_refusals, Refusal("a.etdp", None, "manifest", None, "none")

    def fail(*_: object, **__: object) -> None:
        raise StoreError("store", "cannot be written: No space left on device")

    with consuming(store) as (consumer, _):
        until(lambda: consumer.is_caught_up)
        monkeypatch.setattr(Warehouse, "record_refusals", fail)
        consumer.refusals.refuse(refusal)
        until(lambda: consumer.problem is not None)
        monkeypatch.setattr(Warehouse, "record_refusals", record)
        until(lambda: consumer.problem is None)
        assert consumer.refused == {"manifest": 1}
    with Warehouse.open(store, read_only=True) as warehouse:
        assert warehouse.query("ingest_errors")["source"].to_pylist() == ["a.etdp"]


def test_refusals_are_recorded_at_the_end_even_if_dumps_are_left(store: Path) -> None:
    with consuming(store, batch_seconds=3600, batch_dumps=10) as (consumer, _):
        until(lambda: consumer.is_caught_up)
        consumer.refusals.refuse(Refusal("a.etdp", None, "manifest", None, "none"))
        consumer.leave_backlog()
    with Warehouse.open(store, read_only=True) as warehouse:
        assert warehouse.query("ingest_errors").num_rows == 1


def test_dumps_may_be_left_in_the_inbox_at_the_end(store: Path) -> None:
    with consuming(store, batch_seconds=3600, batch_dumps=10) as (consumer, inbox):
        until(lambda: consumer.is_caught_up and bool(find_snapshots(store)))
        give(consumer, inbox, tiny_incoming(1))
        consumer.leave_backlog()

    assert stored_event_counts(store) == []
    assert len(find_snapshots(store)) == 1


def test_the_commit_under_way_is_the_last_one_when_the_rest_is_left(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Inbox.open(store) as inbox:
        inbox.accept(tiny_incoming(1))
    drain = Warehouse.drain

    def leave(warehouse: Warehouse, **how: Any) -> IngestSummary:
        consumer.leave_backlog()
        return drain(warehouse, **how)

    monkeypatch.setattr(Warehouse, "drain", leave)
    with Warehouse.open_to_write(store) as warehouse:
        consumer = Consumer(warehouse, store, **QUICK)
        with consumer:
            pass
    assert consumer.problem is None
    monkeypatch.undo()
    with Warehouse.open_to_write(store) as warehouse:
        assert warehouse.drain().n_files == 1  # its log was not cleared


@pytest.mark.slow
def test_a_full_disk_is_reported_and_the_consumer_recovers(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_RETRY_SECONDS", 0.01)
    drain = Warehouse.drain

    def fail(_: Warehouse, **__: object) -> None:
        raise StoreError("store", "cannot be written: No space left on device")

    with consuming(store) as (consumer, inbox):
        until(lambda: consumer.is_caught_up)
        monkeypatch.setattr(Warehouse, "drain", fail)
        sha256 = give(consumer, inbox, tiny_incoming(1))
        until(lambda: consumer.problem is not None)
        assert consumer.known.is_waiting(sha256)

        monkeypatch.setattr(Warehouse, "drain", drain)
        until(lambda: not consumer.known.is_waiting(sha256))
        until(lambda: consumer.problem is None)
        assert consumer.indexed.total() == 1


def test_a_bug_is_reported_with_its_location_and_the_dumps_stay_in_the_inbox(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_RETRY_SECONDS", 0.01)
    insert, said = DumpRows.insert_dumps, list[str]()

    def broken(*_: object) -> None:
        raise KeyError("bug")

    with consuming(store) as (consumer, inbox):
        consumer.report = said.append
        until(lambda: consumer.is_caught_up)
        monkeypatch.setattr(DumpRows, "insert_dumps", broken)
        sha256 = give(consumer, inbox, tiny_incoming(1))
        until(lambda: consumer.problem is not None)
        assert "KeyError ('bug'): dumps cannot be indexed, and stay" in str(consumer.problem)
        assert consumer.known.is_waiting(sha256)
        monkeypatch.setattr(DumpRows, "insert_dumps", insert)
        until(lambda: consumer.problem is None)
        assert (consumer.indexed.total(), consumer.refused) == (1, {})
    bug, again = said
    assert "in broken" in bug
    assert again == f"{store}: works again"


def test_an_inbox_unreadable_for_a_while_is_reported_and_the_consumer_recovers(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_RETRY_SECONDS", 0.01)
    look = module.find_logs

    def fail(_: Path) -> list[Path]:
        raise PermissionError(13, "Permission denied")

    with consuming(store) as (consumer, inbox):
        until(lambda: consumer.is_caught_up)
        monkeypatch.setattr(module, "find_logs", fail)
        give(consumer, inbox, tiny_incoming(1))
        until(lambda: consumer.problem is not None)
        assert str(consumer.problem) == (
            f"{store}: cannot be read or written: Permission denied; committed data is safe: "
            "correct this and try again"
        )

        monkeypatch.setattr(module, "find_logs", look)
        until(lambda: consumer.indexed.total() == 1)
        until(lambda: consumer.problem is None)


def test_a_database_that_refuses_all_statements_is_opened_again_and_reported_once(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a failed sync of DuckDB's log; a closed connection refuses all statements, too."""
    monkeypatch.setattr(module, "_RETRY_SECONDS", 0.01)
    with (
        Warehouse.open_to_write(store) as warehouse,
        Inbox.open(store) as inbox,
        Consumer(warehouse, store, **QUICK) as consumer,
    ):
        until(lambda: consumer.is_caught_up)
        reports: list[str] = []
        consumer.report = reports.append
        with consumer.readers.lend() as reader:
            assert reader.sql("SELECT 1 AS one").num_rows == 1
        warehouse.writing.close()
        give(consumer, inbox, tiny_incoming(1))
        until(lambda: consumer.indexed.total() == 1)
        until(lambda: consumer.problem is None)
        with consumer.readers.lend() as reader:
            assert reader.sql("SELECT sha256 FROM dumps").num_rows == 1
    assert reports[1:] == [f"{store}: works again"]


def test_a_failed_checkpoint_is_answered_by_a_rebuild_while_readers_read_a_snapshot(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in `watch`, whose store was not opened patiently."""
    monkeypatch.setattr(module, "_RETRY_SECONDS", 0.01)
    ingest(store, write(store.parent / "old.etdp", tiny_dump(0)), snapshot=True)
    with consuming(store) as (consumer, inbox):
        until(lambda: consumer.is_caught_up)
        reports: list[str] = []
        consumer.report = reports.append
        with consumer.readers.lend() as reader:
            assert reader.sql("SELECT sha256 FROM dumps").num_rows == 1
        sha256 = give(consumer, inbox, tiny_incoming(1))
        until(lambda: consumer.indexed.total() == 1)
        with failing_checkpoints(ALWAYS, times=1):
            with pytest.raises(FailedCheckpointError):
                consumer.publish().result()
            until(lambda: read_failures(store).rebuilt_at is not None)
        until(lambda: consumer.problem is None)
        consumer.publish().result()
        assert sha256 in consumer.known.manifests([sha256])
        with consumer.memory.raise_limit(), consumer.readers.lend() as reader:
            assert reader.sql("SELECT sha256 FROM dumps").num_rows == 2
    assert read_failures(store).failure_count == 1


def test_a_failure_after_long_work_is_not_repeated_at_once(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = []
    with Warehouse.open_to_write(store) as warehouse, Inbox.open(store):
        consumer = Consumer(warehouse, store, **QUICK)
        monkeypatch.setattr(consumer, "_index", lambda **_: [][0])
        for seconds in (0, 100, 5000):
            clock = iter([0, seconds])
            monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: next(clock)))  # noqa: B023
            consumer._turn(is_ending=False)
            waits.append(consumer._retry_seconds)
        consumer.readers.close()
        consumer.memory.close()
    assert waits == [1, 100, 600]


def test_a_store_on_a_full_disk_is_read_and_written_when_there_is_room(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_RETRY_SECONDS", 0.01)
    reports: list[str] = []
    with Warehouse.open_to_write(store) as warehouse:
        warehouse.record_refusals([Refusal("a.etdp", None, "manifest", None, "none")])
        left = Path(shutil.copytree(store, store.with_name("left")))
    with ExitStack() as full:
        full.enter_context(full_disk())
        opened = Warehouse.open_to_write(left, is_patient=True)
        consumer = Consumer(opened, left, **QUICK)
        consumer.report = reports.append
        with opened, Inbox.open(left) as inbox, consumer:
            until(lambda: "the disk is full" in str(consumer.problem))
            with consumer.readers.lend() as reader:
                assert reader.query("ingest_errors").num_rows == 1
            with pytest.raises(FullDiskError):
                consumer.perform(lambda: pytest.fail("it was run")).result()
            give(consumer, inbox, tiny_incoming(1))
            full.close()
            until(lambda: consumer.problem is None and consumer.indexed.total() == 1)
            assert consumer.perform(opened.snapshot).result().path.exists()
    assert len(reports) == len({*reports})
    assert reports[-1] == f"{left}: works again"


def test_dumps_are_indexed_though_there_is_no_room_for_a_first_snapshot(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_RETRY_SECONDS", 0.01)
    publish = Warehouse.snapshot

    def fail(_: Warehouse) -> None:
        raise FullDiskError(str(store / "snapshots"), "9 bytes are needed, and 0 are free")

    monkeypatch.setattr(Warehouse, "snapshot", fail)
    with consuming(store) as (consumer, inbox):
        give(consumer, inbox, tiny_incoming(1))
        until(lambda: consumer.indexed.total() == 1)
        until(lambda: "9 bytes" in str(consumer.problem))
        assert consumer.perform(lambda: 7).result() == 7  # what needs no room is done
        monkeypatch.setattr(Warehouse, "snapshot", publish)
        until(lambda: consumer.problem is None)


@pytest.mark.slow
def test_the_backlog_shrinks_while_it_is_indexed(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drain, backlogs = Warehouse.drain, list[int]()

    def look(warehouse: Warehouse, progress: Callable[[IngestProgress], None]) -> IngestSummary:
        def report(done: IngestProgress) -> None:
            backlogs.append(consumer.known.backlog_bytes)
            progress(done)
            backlogs.append(consumer.known.backlog_bytes)

        return drain(warehouse, progress=report)

    monkeypatch.setattr(Warehouse, "drain", look)
    with Warehouse.open_to_write(store) as warehouse, Inbox.open(store) as inbox:
        consumer = Consumer(warehouse, store, **QUICK)
        give(consumer, inbox, tiny_incoming(1))  # before the thread starts: drained when known
        with consumer:
            until(lambda: consumer.indexed.total() > 0)
    assert backlogs[1] == backlogs[0] - len(tiny_dump(1))


@pytest.mark.slow
def test_the_consumer_merges_small_segments_while_running(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MANY_SEGMENTS", 3)
    with consuming(store) as (consumer, inbox):
        for number in range(5):
            give(consumer, inbox, tiny_incoming(number))
            until(lambda number=number: consumer.indexed.total() > number)

    assert len(list((store / "archive").rglob("*.parquet"))) < 4


@pytest.mark.slow
def test_a_store_that_has_no_snapshot_of_its_schema_gets_one_before_all_else(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Warehouse.open_to_write(store) as warehouse:
        make_old(warehouse.snapshot().path)
    with Inbox.open(store) as inbox:
        inbox.accept(tiny_incoming(1))
    drain, published = Warehouse.drain, list[int]()

    def look(warehouse: Warehouse, **how: Any) -> IngestSummary:
        published.append(len(find_snapshots(store)))
        return drain(warehouse, **how)

    monkeypatch.setattr(Warehouse, "drain", look)
    with consuming(store) as (consumer, _):
        until(lambda: consumer.is_caught_up)
        assert published == [2]
        opened = open_snapshot(store)
        assert opened
        opened.release()


def test_the_consumer_publishes_snapshots_while_running(store: Path) -> None:
    with consuming(store, snapshot_seconds=0.01) as (consumer, inbox):
        until(lambda: bool(find_snapshots(store)))
        give(consumer, inbox, tiny_incoming(1))
        until(lambda: len(find_snapshots(store)) > 1)


def test_upkeep_runs_after_the_dumps_that_were_accepted_before(store: Path) -> None:
    with (
        Warehouse.open_to_write(store) as warehouse,
        Inbox.open(store) as inbox,
        Consumer(warehouse, store, **{**QUICK, "batch_dumps": 99, "batch_seconds": 3600.0}) as held,
    ):
        until(lambda: held.is_caught_up)
        give(held, inbox, tiny_incoming(1))
        count = held.perform(lambda: held.indexed.total()).result(30)
        with pytest.raises(ZeroDivisionError):
            held.perform(lambda: 1 // 0).result(30)
        give(held, inbox, tiny_incoming(2))
        assert held.perform(lambda: held.indexed.total()).result(30) == 2
    assert (count, held.upkeep_count) == (1, 3)
    with pytest.raises(StoreError, match="run the command again"):
        held.perform(lambda: 1).result(0)


def test_a_store_is_compacted_while_it_is_read_and_dumps_come_in(store: Path) -> None:
    with consuming(store) as (consumer, inbox):
        for number in range(8):
            give(consumer, inbox, tiny_incoming(number))
        until(lambda: consumer.indexed.total() == 8)
        with consumer.readers.lend() as reader:
            grow = "INSERT INTO events SELECT e.* FROM events AS e, range(50_000)"
            writing = consumer._warehouse.writing
            consumer.perform(lambda: writing.execute(grow)).result(60)
            consumer.perform(lambda: writing.execute("CHECKPOINT")).result(60)
            half = "DELETE FROM events WHERE rowid >= (SELECT count(*) FROM events) / 100"
            consumer.perform(lambda: writing.execute(half)).result(60)
            wanted = reader.sql("SELECT count(*) AS n FROM events").to_pylist()
            compacting = consumer.perform(consumer.compact)
            until(lambda: consumer.readers._is_reopened)
            with consumer.readers.lend() as other:  # this one reads the snapshot
                assert other.snapshot_time is not None
                assert other.sql("SELECT count(*) AS n FROM events").to_pylist() == wanted
            assert reader.sql("SELECT count(*) AS n FROM events").to_pylist() == wanted
            assert not compacting.done()
        done = compacting.result(60)
        assert done.new_bytes < done.old_bytes
        with consumer.readers.lend() as reader:
            assert reader.snapshot_time is None
            assert reader.sql("SELECT count(*) AS n FROM events").to_pylist() == wanted
        assert limit_of(consumer._warehouse) in ("64.0 MiB", "512.0 MiB")
        sha256 = give(consumer, inbox, tiny_incoming(9))
        until(lambda: consumer.indexed.total() == 9)
        assert sha256 in consumer.known.manifests([sha256])
    assert len(stored_event_counts(store)) == 9
