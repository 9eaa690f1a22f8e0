from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import duckdb
import pytest

from tests.support.etdump_builder import build_etdump
from tests.support.stores import MANIFEST, contents, ingest, open_now, write
from tests.support.syncs import note_synced
from tracehouse import Warehouse
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.engine.store_file import ARCHIVE_FOLDER, FILE_NAME, HEADERS_BYTES, log_of
from tracehouse.warehouse.errors import (
    DamagedStoreError,
    FullDiskError,
    ParameterError,
    StatementError,
    StoreError,
    StoreLockedError,
    StoreVersionError,
    UnknownQueryError,
)
from tracehouse.warehouse.opening.status import read_status
from tracehouse.warehouse.upkeep import compact
from tracehouse.warehouse.upkeep.compact import request_compaction
from tracehouse.warehouse.upkeep.rebuild import rebuild_store


def dump_of(*durations: int, name: str = "native_call_add.out") -> bytes:
    """A dump with one event in each of several runs, at distinct times."""
    events = [
        {"name": name, "instruction_id": 3, "start_time": 1000 * i, "end_time": 1000 * i + duration}
        for i, duration in enumerate(durations)
    ]
    runs = [{"name": "Execute", "events": [{"profile_event": event}]} for event in events]
    return build_etdump({"run_data": runs})


def test_ingested_dump_can_be_queried(tmp_path: Path) -> None:
    path = write(tmp_path / "in/a.etdp", dump_of(10, 20, 40))
    summary = ingest(tmp_path / "store", path)
    assert (summary.n_dumps, summary.n_events, summary.refused) == (1, 3, ())
    with Warehouse.open(tmp_path / "store", read_only=True) as warehouse:
        (row,) = warehouse.query("percentiles", device="pixel8").to_pylist()
    assert (row["event_name"], row["sample_count"]) == ("native_call_add.out", 3)
    assert (row["min_ns"], row["p50_ns"], row["max_ns"]) == (10.0, 20.0, 40.0)


def test_second_ingest_of_a_folder_changes_nothing(tmp_path: Path) -> None:
    write(tmp_path / "in/a.etdp", dump_of(1, 2))
    write(tmp_path / "in/b.etdp", dump_of(3, 4))
    write(tmp_path / "in/bad.etdp", b"not an etdump at all, sorry")
    first = ingest(tmp_path / "store", tmp_path / "in")
    before = contents(tmp_path / "store")
    second = ingest(tmp_path / "store", tmp_path / "in")
    assert (first.n_dumps, first.n_duplicates, len(first.refused)) == (2, 0, 1)
    assert (second.n_dumps, second.n_duplicates, len(second.refused)) == (0, 2, 1)
    assert contents(tmp_path / "store") == before


def test_equal_files_of_one_ingest_are_one_dump_or_refused_each(tmp_path: Path) -> None:
    for name, data in {"a": dump_of(5), "b": dump_of(5), "c": b"x" * 64, "d": b"x" * 64}.items():
        write(tmp_path / f"in/{name}.etdp", data)
    summary = ingest(tmp_path / "store", tmp_path / "in")
    assert (summary.n_files, summary.n_dumps, summary.n_duplicates) == (4, 1, 1)
    assert [r.reason for r in summary.refused] == ["bad_identifier", "bad_identifier"]


def test_refused_files_are_on_record_and_others_are_ingested(tmp_path: Path) -> None:
    write(tmp_path / "in/a.etdp", dump_of(5))
    other = str(write(tmp_path / "in/d.etdp", dump_of(5)))
    for name, device in {"a": "pixel8", "b": "pixel8", "d": "pixel9"}.items():
        manifest = json.dumps(MANIFEST | {"device": device})
        write(tmp_path / f"in/{name}.json", manifest.encode())
    cut = str(write(tmp_path / "in/b.etdp", dump_of(6)[:-8]))
    unstated = str(write(tmp_path / "in/c.etdp", dump_of(7)))
    summary = ingest(tmp_path / "store", tmp_path / "in", manifest=None)
    assert (summary.n_dumps, {r.source for r in summary.refused}) == (1, {cut, unstated, other})
    with Warehouse.open(tmp_path / "store", read_only=True) as warehouse:
        rows = {row["source"]: row for row in warehouse.query("ingest_errors").to_pylist()}
    assert (rows[cut]["reason"], rows[cut]["byte_offset"]) == ("bad_size_prefix", 0)
    assert (rows[cut]["is_resolved"], rows[other]["reason"]) == (False, "conflict")
    assert rows[unstated]["reason"] == "manifest"
    assert "--device" in rows[unstated]["detail"]


def test_builds_gather_what_dumps_state(tmp_path: Path) -> None:
    late = {"id": "b1", "committed_at": "2026-11-02T00:00:00Z"}
    early = {"id": "b1", "committed_at": "2026-11-01T00:00:00Z", "branch": "main"}
    for i, build in enumerate((late, early, late)):
        path = write(tmp_path / f"in/{i}.etdp", dump_of(i))
        ingest(tmp_path / "store", path, manifest={**MANIFEST, "build": build})
    with Warehouse.open(tmp_path / "store", read_only=True) as warehouse:
        (row,) = warehouse.sql("SELECT name, branch, committed_at FROM builds").to_pylist()
    assert (row["name"], row["branch"], row["committed_at"].day) == ("b1", "main", 1)


def test_flagged_durations_are_kept_and_never_counted(tmp_path: Path) -> None:
    events = [
        {"profile_event": {"name": "a", "instruction_id": 1, "start_time": s, "end_time": e}}
        for s, e in ((5, 15), (2**40, 7), (0, 2**64 - 1), (2**32 - 5, 5))
    ]
    path = write(tmp_path / "a.etdp", build_etdump({"run_data": [{"name": "E", "events": events}]}))
    ingest(tmp_path / "store", path)
    with Warehouse.open(tmp_path / "store", read_only=True) as warehouse:
        counts = warehouse.sql("SELECT n_events, n_flagged_events FROM dumps").to_pylist()
        (row,) = warehouse.query("percentiles").to_pylist()
        stats = warehouse.sql("SELECT sample_count, max_ticks FROM event_stats").to_pylist()
    assert counts == [{"n_events": 4, "n_flagged_events": 2}]
    assert (row["sample_count"], row["min_ns"], row["max_ns"]) == (2, 10.0, 10.0)
    assert stats == [{"sample_count": 2, "max_ticks": 10}]


def test_cycles_of_unknown_rate_have_no_nanoseconds(tmp_path: Path) -> None:
    path = write(tmp_path / "a.etdp", dump_of(7))
    ingest(tmp_path / "store", path, manifest={**MANIFEST, "clock": "cycles"})
    with Warehouse.open(tmp_path / "store", read_only=True) as warehouse:
        (row,) = warehouse.sql("SELECT duration_ticks, duration_ns FROM named_events").to_pylist()
    assert row == {"duration_ticks": 7, "duration_ns": None}


def test_every_table_view_and_column_is_described(store: Path) -> None:
    with Warehouse.open(store, read_only=True) as warehouse:
        rows = warehouse.schema().to_pylist()
    some = {"named_events", "events", "event_stats"}
    assert some < {row["table_name"] for row in rows}
    assert [row for row in rows if not row["comment"]] == []


def test_a_store_is_made_only_where_that_is_asked_for(tmp_path: Path) -> None:
    for read_only in (False, True):
        with pytest.raises(StoreError, match="no store here; create one with 'tracehouse ingest"):
            open_now(tmp_path / "typo", read_only=read_only)
    assert not (tmp_path / "typo").exists()
    Warehouse.open_to_write(tmp_path / "store", create=True).close()
    Warehouse.open_to_write(tmp_path / "store").close()


def test_a_file_in_place_of_a_store_s_directory_is_named(tmp_path: Path) -> None:
    file = write(tmp_path / "file", b"hello")
    for read_only in (False, True):
        with pytest.raises(StoreError, match="file: is a file, wanted the directory of a store"):
            open_now(file, read_only=read_only)


def test_a_path_that_is_not_utf8_is_refused_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("caf\udce9", "caf\udce9/store"):
        for read_only in (False, True):
            with pytest.raises(StoreError, match="not UTF-8, which DuckDB needs"):
                open_now(name, read_only=read_only)
    assert list(tmp_path.iterdir()) == []


def test_a_store_from_a_newer_version_is_left_alone(store: Path) -> None:
    with duckdb.connect(str(store / FILE_NAME)) as connection:
        connection.execute("INSERT INTO schema_migrations VALUES (99, 'x', now(), '9.9')")
    with pytest.raises(StoreVersionError, match=r"schema 99, .*upgrade tracehouse"):
        Warehouse.open_to_write(store, create=True)


def test_views_follow_the_installed_version(store: Path) -> None:
    with duckdb.connect(str(store / FILE_NAME)) as connection:
        connection.execute("CREATE OR REPLACE VIEW named_dumps AS SELECT 1 AS old")
        connection.execute("UPDATE schema_views SET sha256 = 'old'")
    with Warehouse.open(store, read_only=True) as warehouse:
        assert "device" in warehouse.sql("SELECT * FROM named_dumps").column_names


def test_ad_hoc_sql_that_is_not_one_select_is_refused(store: Path) -> None:
    with Warehouse.open_to_write(store) as warehouse:
        for text in (
            "DELETE FROM dumps",
            "SELECT 1; SELECT 2",
            "WITH x AS (COPY (SELECT 1) TO 'ruined.csv') SELECT 1",
            "WITH x AS (INSERT INTO schema_views VALUES ('x') RETURNING 1) SELECT * FROM x",
            "SELECT * FROM no_such_table",
            "SELEC 1",
            "",
        ):
            with pytest.raises(StatementError):
                warehouse.sql(text)


def test_unknown_queries_and_parameters_are_errors(store: Path) -> None:
    with Warehouse.open(store, read_only=True) as warehouse:
        with pytest.raises(UnknownQueryError, match="did you mean percentiles"):
            warehouse.query("percentile")
        for name in ("name", "self"):  # as parameters in Python may be called
            with pytest.raises(ParameterError, match=f"parameter '{name}': no such parameter"):
                warehouse.query("dumps", **{name: "x"})


def run_python(code: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )


@pytest.mark.system
def test_a_store_in_use_names_the_process(store: Path) -> None:
    code = (
        "import sys; from tracehouse import Warehouse\n"
        "with Warehouse.open_to_write(sys.argv[1]): print('open', flush=True); sys.stdin.read()"
    )
    with run_python(code, store) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        for read_only in (False, True):
            with pytest.raises(StoreLockedError, match=f"process {holder.pid}") as caught:
                open_now(store, read_only=read_only)
            assert caught.value.pid == holder.pid
        holder.communicate()


FULL_DISK = """
import resource, signal, sys
from tests.support.stores import MANIFEST
from tracehouse import Warehouse
from tracehouse.warehouse.errors import WarehouseError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
warehouse = Warehouse.open_to_write(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 18, 1 << 18))  # for DuckDB's log
try: warehouse.ingest([sys.argv[2]], manifest=MANIFEST)
except WarehouseError as error: print(error)
"""


@pytest.mark.system
@pytest.mark.slow
def test_a_full_disk_is_reported_and_committed_data_stays(tmp_path: Path) -> None:
    store = tmp_path / "store"
    ingest(store, write(tmp_path / "a.etdp", dump_of(1, 2, 3)))
    before = contents(store)
    for i in range(100):
        write(tmp_path / f"more/{i:03}.etdp", dump_of(*range(i, i + 400), name=f"op{i}"))
    problem = "".join(run_python(FULL_DISK, store, tmp_path / "more").communicate())
    assert "disk is full" in problem
    assert "free some space" in problem
    assert contents(store) == before
    assert ingest(store, tmp_path / "more").n_dumps == 100


@pytest.mark.slow
def test_an_ingest_merges_what_many_small_ones_left_in_the_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracehouse.warehouse.archive.rewriting.MANY_SEGMENTS", 3)
    counts = []
    for number in range(1, 6):
        ingest(tmp_path / "store", write(tmp_path / "in" / f"{number}.etdp", dump_of(number)))
        counts.append(len(Archive(tmp_path / "store").segments()))
    assert counts == [1, 2, 1, 2, 1]
    before = contents(tmp_path / "store")
    assert all(table.is_equal for table in rebuild_store(tmp_path / "store").tables)
    assert contents(tmp_path / "store") == before


def copy_while_open(store: Path, copy: Path) -> None:
    """Copy a store into which a dump was ingested but that was not closed, as after a kill."""
    with Warehouse.open_to_write(store) as warehouse:
        warehouse.ingest([write(store.parent / "a.etdp", dump_of(1))], manifest=MANIFEST)
        shutil.copytree(store, copy)


def test_rows_in_the_log_of_a_killed_writer_are_written_anew_when_the_store_is_opened(
    store: Path, tmp_path: Path
) -> None:
    """A sync of that log may have failed, and no later sync would write its pages."""
    copy_while_open(store, tmp_path / "copy")
    log = log_of(tmp_path / "copy" / FILE_NAME)
    assert log.stat().st_size
    with Warehouse.open_to_write(tmp_path / "copy") as warehouse:
        assert not log.exists() or not log.stat().st_size
        assert warehouse.sql("SELECT sha256 FROM dumps").num_rows == 1


def test_headers_of_a_file_that_was_not_closed_are_written_anew(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last sync of its checkpoint may have failed."""
    copy_while_open(store, tmp_path / "copy")
    file = tmp_path / "copy" / FILE_NAME
    written: list[tuple[int, bytes, int]] = []
    pwrite = os.pwrite

    def note(descriptor: int, data: bytes, offset: int) -> int:
        written.append((os.fstat(descriptor).st_ino, bytes(data), offset))
        return pwrite(descriptor, data, offset)

    monkeypatch.setattr(os, "pwrite", note)
    synced = note_synced(monkeypatch)
    headers = file.read_bytes()[:HEADERS_BYTES]
    Warehouse.open_to_write(tmp_path / "copy").close()
    assert (file.stat().st_ino, headers, 0) in written
    assert file.stat().st_ino in synced


def test_segments_are_safe_before_they_are_replayed(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their writer may have been killed after the rename and before the sync of the folder."""
    copy_while_open(store, tmp_path / "copy")
    log_of(tmp_path / "copy" / FILE_NAME).unlink()
    synced = note_synced(monkeypatch)
    with Warehouse.open_to_write(tmp_path / "copy") as warehouse:
        assert (tmp_path / "copy" / ARCHIVE_FOLDER).stat().st_ino in synced
        assert warehouse.sql("SELECT sha256 FROM dumps").num_rows == 1


def test_a_compaction_that_fails_after_the_file_was_replaced_leaves_a_usable_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "store"
    ingest(store, write(tmp_path / "a.etdp", dump_of(1, 2, 3)))
    request_compaction(store)  # so that the copy is used although it is not smaller

    def fail(_: Archive) -> int:
        raise FullDiskError(str(store / "archive"), "No space left on device")

    with Warehouse.open_to_write(store) as warehouse:
        monkeypatch.setattr(compact, "merge_segments", fail)
        with pytest.raises(FullDiskError):
            warehouse.compact(nullcontext())
        monkeypatch.undo()
        assert warehouse.sql("SELECT count(*) AS n FROM dumps").to_pylist() == [{"n": 1}]
        assert warehouse.snapshot().path.exists()
        warehouse.ingest(write(tmp_path / "b.etdp", dump_of(4)), manifest=MANIFEST)
        warehouse.compact(nullcontext())
    assert not read_status(store).is_uncompacted


def test_an_open_store_recovers_when_duckdb_refuses_all_statements(
    store: Path, tmp_path: Path
) -> None:
    with Warehouse.open_to_write(store) as warehouse:
        warehouse.ingest([write(tmp_path / "a.etdp", dump_of(1))], manifest=MANIFEST)
        warehouse.writing.close()
        dump = write(tmp_path / "b.etdp", dump_of(2))
        with pytest.raises(StoreError):
            warehouse.ingest([dump], manifest=MANIFEST)
        warehouse.recover(nullcontext())
        assert warehouse.ingest([dump], manifest=MANIFEST).n_dumps == 1
        assert warehouse.sql("SELECT sha256 FROM dumps").num_rows == 2


def test_an_open_store_whose_file_is_gone_names_the_rebuild(store: Path, tmp_path: Path) -> None:
    ingest(store, write(tmp_path / "a.etdp", dump_of(1)))
    warehouse = Warehouse.open_to_write(store)
    (store / FILE_NAME).unlink()
    with pytest.raises(DamagedStoreError, match=r"gone.*'tracehouse store rebuild'"):
        warehouse.recover(nullcontext())
    with pytest.raises(DamagedStoreError, match=r"deleted or replaced.*'tracehouse store rebuild'"):
        warehouse.close()


def test_a_store_opened_to_be_read_cannot_be_changed(store: Path) -> None:
    with Warehouse.open(store, read_only=True) as warehouse:
        for change in (
            lambda: warehouse.writing,
            lambda: warehouse.ingest([], manifest=MANIFEST),
            warehouse.drain,
            warehouse.snapshot,
            lambda: warehouse.decide("g2", state="accepted", reason=""),
        ):
            with pytest.raises(StoreError, match="opened to be read"):
                change()
