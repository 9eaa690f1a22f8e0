from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from ingest import decode
from tests.support.corpus import read_dump
from tests.support.cross_section import cross_section
from tests.support.etdump_builder import build_etdump
from tests.support.stores import MANIFEST, contents, ingest, write
from tests.support.syncs import note_synced
from warehouse import Warehouse
from warehouse.archive.archive import Archive
from warehouse.engine.store_file import FILE_NAME
from warehouse.errors import (
    ParameterError,
    StatementError,
    StoreError,
    StoreLockedError,
    StoreVersionError,
    UnknownQueryError,
)
from warehouse.load import batches, stored_events
from warehouse.load import pipeline as ingestion
from warehouse.upkeep.rebuild import rebuild_store


def dump_of(*durations: int, name: str = "native_call_add.out") -> bytes:
    """A dump with one event in each of several runs, at distinct times."""
    return build_etdump(
        {
            "run_data": [
                {
                    "name": "Execute",
                    "events": [
                        {
                            "profile_event": {
                                "name": name,
                                "instruction_id": 3,
                                "start_time": 1000 * i,
                                "end_time": 1000 * i + duration,
                            }
                        }
                    ],
                }
                for i, duration in enumerate(durations)
            ]
        }
    )


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


@pytest.mark.slow
def test_ingest_in_pieces_equals_ingest_at_once(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"in/{i}.etdp", dump_of(i, i + 1, i + 2)) for i in range(6)]
    ingest(tmp_path / "whole", *paths)
    for path in paths:
        ingest(tmp_path / "pieces", path)
    assert contents(tmp_path / "whole") == contents(tmp_path / "pieces")


def test_same_bytes_twice_in_one_ingest_are_one_dump(tmp_path: Path) -> None:
    write(tmp_path / "in/a.etdp", dump_of(5))
    write(tmp_path / "in/b.etdp", dump_of(5))
    summary = ingest(tmp_path / "store", tmp_path / "in")
    assert (summary.n_files, summary.n_dumps, summary.n_duplicates) == (2, 1, 1)


def test_same_bad_bytes_twice_are_refused_twice(tmp_path: Path) -> None:
    write(tmp_path / "in/a.etdp", b"x" * 64)
    write(tmp_path / "in/b.etdp", b"x" * 64)
    summary = ingest(tmp_path / "store", tmp_path / "in")
    assert [r.reason for r in summary.refused] == ["bad_identifier", "bad_identifier"]
    assert summary.n_duplicates == 0


def test_same_bytes_under_another_manifest_are_a_conflict_and_change_nothing(
    tmp_path: Path,
) -> None:
    path = write(tmp_path / "in/a.etdp", dump_of(5))
    ingest(tmp_path / "store", path)
    summary = ingest(tmp_path / "store", path, manifest={**MANIFEST, "device": "pixel9"})
    assert (summary.n_dumps, summary.n_conflicts) == (0, 1)
    assert summary.refused[0].reason == "conflict"
    assert "pixel8" in summary.refused[0].detail
    assert "pixel9" in summary.refused[0].detail
    with Warehouse.open(tmp_path / "store", read_only=True) as warehouse:
        assert warehouse.query("dumps")["device"].to_pylist() == ["pixel8"]
        assert warehouse.query("ingest_errors")["reason"].to_pylist() == ["conflict"]


def test_refused_file_is_on_record_with_reason_and_offset(tmp_path: Path) -> None:
    good = dump_of(5)
    path = write(tmp_path / "in/cut.etdp", good[:-8])
    summary = ingest(tmp_path / "store", path)
    assert summary.refused[0].source == str(path)
    with Warehouse.open(tmp_path / "store", read_only=True) as warehouse:
        (row,) = warehouse.query("ingest_errors").to_pylist()
    assert (row["source"], row["reason"], row["byte_offset"]) == (str(path), "bad_size_prefix", 0)
    assert row["is_resolved"] is False


def test_missing_manifest_refuses_the_file_and_not_its_neighbours(tmp_path: Path) -> None:
    write(tmp_path / "in/a.etdp", dump_of(5))
    write(tmp_path / "in/a.json", json.dumps(MANIFEST).encode())
    write(tmp_path / "in/b.etdp", dump_of(6))
    summary = ingest(tmp_path / "store", tmp_path / "in", manifest=None)
    assert (summary.n_dumps, [r.reason for r in summary.refused]) == (1, ["manifest"])
    assert "--device" in summary.refused[0].detail


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


def test_every_table_view_and_column_is_described(tmp_path: Path) -> None:
    with Warehouse.open(tmp_path / "store", create=True) as warehouse:
        rows = warehouse.schema().to_pylist()
    some = {"named_events", "events", "event_stats"}
    assert some < {row["table_name"] for row in rows}
    assert [row for row in rows if not row["comment"]] == []


def test_reading_a_store_that_is_not_there_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no store here; create one with 'tracehouse ingest"):
        Warehouse.open(tmp_path / "none", read_only=True)
    assert not (tmp_path / "none").exists()


def test_a_store_is_made_only_where_that_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no store here"):
        Warehouse.open(tmp_path / "typo")
    assert not (tmp_path / "typo").exists()
    Warehouse.open(tmp_path / "store", create=True).close()
    Warehouse.open(tmp_path / "store").close()


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    write(tmp_path / "store/warehouse.duckdb", b"hello" * 1000)
    with pytest.raises(StoreError, match="not a tracehouse store"):
        Warehouse.open(tmp_path / "store", create=True)


@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_in_place_of_a_store_s_directory_is_named(tmp_path: Path, read_only: bool) -> None:
    write(tmp_path / "file", b"hello")
    with pytest.raises(StoreError, match="file: is a file, wanted the directory of a store"):
        Warehouse.open(tmp_path / "file", create=not read_only, read_only=read_only)


@pytest.mark.parametrize("name", ["caf\udce9", "caf\udce9/store"])
def test_a_path_that_is_not_utf8_is_refused_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match="not UTF-8, which DuckDB needs"):
        Warehouse.open(name, create=True)
    with pytest.raises(StoreError, match="not UTF-8, which DuckDB needs"):
        Warehouse.open(name, read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_a_store_from_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    Warehouse.open(tmp_path / "store", create=True).close()
    with duckdb.connect(str(tmp_path / "store/warehouse.duckdb")) as connection:
        connection.execute("INSERT INTO schema_migrations VALUES (99, 'x', now(), '9.9')")
    with pytest.raises(StoreVersionError, match=r"schema 99, .*upgrade tracehouse"):
        Warehouse.open(tmp_path / "store", create=True)


def test_views_follow_the_installed_version(tmp_path: Path) -> None:
    Warehouse.open(tmp_path / "store", create=True).close()
    with duckdb.connect(str(tmp_path / "store/warehouse.duckdb")) as connection:
        connection.execute("CREATE OR REPLACE VIEW named_dumps AS SELECT 1 AS old")
        connection.execute("UPDATE schema_views SET sha256 = 'old'")
    with Warehouse.open(tmp_path / "store", read_only=True) as warehouse:
        assert "device" in warehouse.sql("SELECT * FROM named_dumps").column_names


@pytest.mark.parametrize(
    "text",
    cross_section(
        [
            "DELETE FROM dumps",
            "SELECT 1; SELECT 2",
            "WITH x AS (COPY (SELECT 1) TO 'ruined.csv') SELECT 1",
            "WITH x AS (INSERT INTO schema_views VALUES ('x') RETURNING 1) SELECT * FROM x",
            "SELECT * FROM no_such_table",
            "SELEC 1",
            "",
        ],
        4,
    ),
)
def test_ad_hoc_sql_that_is_not_one_select_is_refused(tmp_path: Path, text: str) -> None:
    with (
        Warehouse.open(tmp_path / "store", create=True) as warehouse,
        pytest.raises(StatementError),
    ):
        warehouse.sql(text)


@pytest.mark.parametrize("name", ["name", "self"])
def test_a_parameter_called_as_one_of_python_s_is_unknown_too(tmp_path: Path, name: str) -> None:
    with (
        Warehouse.open(tmp_path / "store", create=True) as warehouse,
        pytest.raises(ParameterError, match=f"parameter '{name}': no such parameter"),
    ):
        warehouse.query("dumps", **{name: "x"})


def test_unknown_names_suggest_near_ones(tmp_path: Path) -> None:
    with Warehouse.open(tmp_path / "store", create=True) as warehouse:
        with pytest.raises(UnknownQueryError, match="did you mean percentiles"):
            warehouse.query("percentile")
        with pytest.raises(ParameterError, match="device"):
            warehouse.query("percentiles", devices="x")


def run_python(code: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )


@pytest.mark.system
def test_a_store_in_use_names_the_process(tmp_path: Path) -> None:
    code = (
        "import sys; from warehouse import Warehouse\n"
        "with Warehouse.open(sys.argv[1], create=True): print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "store")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        for read_only in (False, True):
            with pytest.raises(StoreLockedError, match=f"process {holder.pid}") as caught:
                Warehouse.open(tmp_path / "store", read_only=read_only)
            assert caught.value.pid == holder.pid
        holder.communicate()


INGEST = (
    "import sys; from warehouse import Warehouse\n"
    "from warehouse.load import batches, pipeline as ingestion\n"
    "batches.BATCH_FILES, ingestion.COMMIT_EVENTS = 4, 1\n"
    "manifest = {'device': 'pixel8', 'build': 'b1', 'model': 'mv2'}\n"
    "with Warehouse.open(sys.argv[1], create=True) as w:\n"
    "    print('open', flush=True)\n"
    "    w.ingest([sys.argv[2]], manifest=manifest, progress=lambda p: print(p, flush=True))"
)


@pytest.mark.system
@pytest.mark.slow
@pytest.mark.parametrize("lines", [5, 0, 2])
def test_a_killed_ingest_leaves_whole_batches_and_the_next_completes_it(
    tmp_path: Path, lines: int
) -> None:
    for i in range(40):
        write(tmp_path / f"in/{i:02}.etdp", dump_of(*range(i, i + 50)))
    ingest(tmp_path / "whole", tmp_path / "in")
    process = run_python(INGEST, tmp_path / "store", tmp_path / "in")
    assert process.stdout is not None
    for _ in range(lines):
        process.stdout.readline()
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    with Warehouse.open(tmp_path / "store", create=True) as warehouse:
        counted = warehouse.sql(
            "SELECT dump_id, n_events, (SELECT count(*) FROM events AS e "
            "WHERE e.dump_id = d.dump_id) AS found FROM dumps AS d"
        ).to_pylist()
    assert all(row["n_events"] == row["found"] for row in counted)
    ingest(tmp_path / "store", tmp_path / "in")
    assert contents(tmp_path / "store") == contents(tmp_path / "whole")


@pytest.mark.system
@pytest.mark.slow
def test_a_full_disk_is_said_and_what_was_committed_stays(
    tmp_path: Path, no_room: Callable[[Path], str]
) -> None:
    write(tmp_path / "first/a.etdp", dump_of(1, 2, 3))
    ingest(tmp_path / "store", tmp_path / "first")
    before = contents(tmp_path / "store")
    for i in range(100):
        write(tmp_path / f"more/{i:03}.etdp", dump_of(*range(i, i + 400), name=f"op{i}"))
    problem = no_room(tmp_path)
    assert "disk is full" in problem
    assert "free some space" in problem
    assert contents(tmp_path / "store") == before
    assert ingest(tmp_path / "store", tmp_path / "more").n_dumps == 100


@pytest.fixture
def no_room() -> Callable[[Path], str]:
    """Ingests `more` in a process whose files cannot grow, as on a full disk."""
    code = (
        "import resource, signal, sys\n"
        "from warehouse import Warehouse\n"
        "from warehouse.errors import WarehouseError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "manifest = {'device': 'pixel8', 'build': 'b1', 'model': 'mv2'}\n"
        "warehouse = Warehouse.open(sys.argv[1], create=True)\n"
        "import os; size = os.path.getsize(sys.argv[1] + '/warehouse.duckdb')\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))\n"
        "try: warehouse.ingest([sys.argv[2]], manifest=manifest)\n"
        "except WarehouseError as error: print(error)\n"
    )

    def fill(folder: Path) -> str:
        process = run_python(code, folder / "store", folder / "more")
        out, err = process.communicate()
        return out or err

    return fill


@pytest.mark.slow
def test_a_big_dump_is_stored_in_parts_with_the_same_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "in/a.etdp", dump_of(*range(3, 60)))
    write(tmp_path / "in/b.etdp", read_dump("real/mixed_xnnpack_n20"))
    write(tmp_path / "in/c.etdp", read_dump("real/traced_str_n20"))
    ingest(tmp_path / "whole", tmp_path / "in")
    monkeypatch.setattr(ingestion, "STREAM_BYTES", 1)
    monkeypatch.setattr(batches, "BATCH_FILES", 1)
    monkeypatch.setattr(decode, "ARENA_BYTES", 1024)
    monkeypatch.setattr(stored_events, "_MOST_EVENTS", 100)
    summary = ingest(tmp_path / "parts", tmp_path / "in")
    assert (summary.n_dumps, summary.n_duplicates, summary.refused) == (3, 0, ())
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


@pytest.mark.slow
def test_nothing_is_kept_of_a_big_dump_that_turns_out_malformed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = read_dump("real/cnn_portable_n20")
    bad = bytearray(good)
    bad[-300:-292] = b"\xff" * 8  # in the first run, which stands last
    write(tmp_path / "in/a.etdp", bytes(bad))
    write(tmp_path / "in/b.etdp", good)
    ingest(tmp_path / "whole", tmp_path / "in")
    monkeypatch.setattr(ingestion, "STREAM_BYTES", 1)
    monkeypatch.setattr(batches, "BATCH_FILES", 1)
    monkeypatch.setattr(decode, "ARENA_BYTES", 4096)
    summary = ingest(tmp_path / "parts", tmp_path / "in")
    assert (summary.n_dumps, [r.byte_offset is None for r in summary.refused]) == (1, [False])
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


def test_a_name_the_store_does_not_have_is_an_error_and_not_an_empty_answer(
    tmp_path: Path,
) -> None:
    ingest(tmp_path / "store", write(tmp_path / "a.etdp", dump_of(5)))
    with Warehouse.open(tmp_path / "store", read_only=True) as warehouse:
        with pytest.raises(
            ParameterError, match=r"'device': 'pixel' is not in .*; did you mean pixel8"
        ):
            warehouse.query("percentiles", device="pixel")
        with pytest.raises(ParameterError, match=r"'head': 'zzz' is not in .*; there are b1"):
            warehouse.query("regression_deltas", base="b1", head="zzz")


@pytest.mark.slow
def test_an_ingest_merges_what_many_small_ones_left_in_the_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warehouse.opening.write.MANY_SEGMENTS", 3)
    counts = []
    for number in range(1, 6):
        ingest(tmp_path / "store", write(tmp_path / "in" / f"{number}.etdp", dump_of(number)))
        counts.append(len(Archive(tmp_path / "store").segments()))
    assert counts == [1, 2, 1, 2, 1]
    before = contents(tmp_path / "store")
    assert all(table.is_equal for table in rebuild_store(tmp_path / "store").tables)
    assert contents(tmp_path / "store") == before


def test_an_ingest_without_archive_leaves_the_name_of_its_log_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "store"
    with Warehouse.open(store, create=True) as warehouse:
        synced = note_synced(monkeypatch)
        dump = write(tmp_path / "a.etdp", dump_of(1))
        warehouse.ingest([dump], manifest=MANIFEST, archive=False)
        assert store.stat().st_ino in synced


def test_a_damaged_log_without_archive_is_said_with_its_remedy(tmp_path: Path) -> None:
    store, copy = tmp_path / "store", tmp_path / "copy"
    ingest(store, write(tmp_path / "a.etdp", dump_of(1)), archive=False)
    with Warehouse.open(store) as warehouse:
        last = write(tmp_path / "b.etdp", dump_of(2))
        warehouse.ingest([last], manifest=MANIFEST, archive=False)
        shutil.copytree(store, copy)
    log = copy / f"{FILE_NAME}.wal"
    data = log.read_bytes()
    log.write_bytes(data[:200] + bytes(100) + data[300:])
    with pytest.raises(StoreError, match=r"no archive .* move warehouse.duckdb.wal and"):
        Warehouse.open(copy)
    log.unlink()
    with pytest.raises(StoreError, match=r"is gone, with .*\.wal\.sum away and repeat"):
        ingest(copy, last, archive=False)
    (copy / f"{FILE_NAME}.wal.sum").unlink()
    assert ingest(copy, last, archive=False).n_dumps == 1
    assert len(contents(copy)["dumps"]) == 2


def test_a_store_opened_to_be_read_gives_nothing_to_write_with(tmp_path: Path) -> None:
    Warehouse.open(tmp_path, create=True).close()
    with (
        Warehouse.open(tmp_path, read_only=True) as warehouse,
        pytest.raises(StoreError, match="opened to be read"),
    ):
        _ = warehouse.writing
