from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.support.command import Run, run_on_terminal
from tests.support.corpus import CORPUS, FARM, read_dump
from tests.support.documents import ROOT
from tests.support.stores import make_old, write, writing
from tests.support.tiny_dumps import tiny_dump, tiny_incoming
from tracehouse import Inbox, Warehouse
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.engine.store_file import FILE_NAME
from tracehouse.warehouse.errors import StoreError
from tracehouse.warehouse.load import children
from tracehouse.warehouse.load.dump_rows import DumpRows
from tracehouse.warehouse.opening.snapshots import find_snapshots
from tracehouse.warehouse.upkeep import compact as compaction

LOAD_ONLY = CORPUS / "real/load_only.etdp"
NAMES = ("--device", "d", "--build", "b", "--model", "m")
NOTE = r"note: answered from the snapshot of [-\d]{10} [:\d]{8}Z, which is \d+ s old: "
PIXEL = ("--device", "pixel8", "--build", "b1", "--model", "mv2")
DUMP = next(iter(sorted(FARM.rglob("*.etdp"))))
SHA256 = hashlib.sha256(DUMP.read_bytes()).hexdigest()


@pytest.mark.system
def test_wrong_rows_are_listed_with_the_command_that_mends_them(
    run: Run, farm_copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    where = ("--store", farm_copy)
    found = run("store", "verify", *where)
    assert (found.code, found.err.strip()) == (
        0,
        "note: compared 2 dumps with the archive: no row differs",
    )
    with writing(farm_copy) as connection:
        connection.execute("DELETE FROM event_stats WHERE dump_id = 2")
    found = run("store", "verify", "--all", *where, "--format", "csv")
    (row,) = found.text.splitlines()[1:]
    assert (found.code, row.startswith("2,"), ",event_stats," in row) == (1, True, True)
    assert "some rows differ from the archive" in run("status", *where).err
    (*_, command) = found.err.strip().rstrip("'").partition("'tracehouse ")
    assert command == "store rebuild"
    assert run(*command.split(), *where).code == 0
    assert run("store", "verify", "--all", *where).code == 0
    status = run("status", *where, "--format", "json")
    ((row),) = json.loads(status.text)
    assert (status.err, row["damaged_dumps"], row["damaged_tables"]) == ("", 0, 0)
    assert row["verified_at"] is not None
    assert [*(tmp_path / "scratch").iterdir()] == []


@pytest.mark.system
def test_a_store_is_verified_beside_its_writer(run: Run, farm_copy: Path) -> None:
    with Warehouse.open_to_write(farm_copy) as warehouse:
        warehouse.snapshot()
        warehouse.ingest([tiny_incoming(1)])
        found = run("store", "verify", "--all", "--store", farm_copy)
    assert (found.code, found.err.strip()) == (
        0,
        "note: compared 148 dumps with the archive: no row differs",
    )


def test_a_sample_or_date_without_meaning_is_named(run: Run, farm_copy: Path) -> None:
    where = ("--store", farm_copy)
    assert "'--sample'" in run("store", "verify", "--sample", "some", *where).err
    assert "since: found 'monday'" in run("store", "verify", "--since", "monday", *where).err


def test_a_snapshot_says_where_it_is(run: Run, farm_copy: Path) -> None:
    done = run("store", "snapshot", "--store", farm_copy, "--format", "json")
    ((row),) = json.loads(done.text)
    assert (done.code, done.err) == (0, "")
    assert Path(row["path"]).parent == farm_copy / "snapshots"
    assert row["bytes"] == Path(row["path"]).stat().st_size


def test_snapshot_keep_limits_the_number_of_snapshots(run: Run, farm_copy: Path) -> None:
    for _ in range(2):
        done = run("store", "snapshot", "--keep", 1, "--store", farm_copy, "--format", "json")
    ((row),) = json.loads(done.text)
    assert [one.path for one in find_snapshots(farm_copy)] == [Path(row["path"])]


@pytest.mark.slow
def test_an_answer_beside_a_writer_tells_the_age_of_its_snapshot(run: Run, farm_copy: Path) -> None:
    asked = (
        ("query", "dumps"),
        ("sql", "SELECT device FROM named_dumps ORDER BY 1"),
        ("schema", "dumps"),
    )
    before = [run(*args, "--store", farm_copy) for args in asked]
    assert {outcome.err for outcome in before} == {""}
    run("store", "snapshot", "--store", farm_copy)
    with Warehouse.open_to_write(farm_copy):
        for args, alone in zip(asked, before, strict=True):
            beside = run(*args, "--store", farm_copy)
            assert (beside.code, beside.out) == (0, alone.out)
            assert re.fullmatch(f"{NOTE}another process has the store open", beside.error)
        assert "locked by process" in run("store", "snapshot", "--store", farm_copy).error


def test_an_ingest_publishes_a_snapshot_when_it_is_asked_to(run: Run, farm_copy: Path) -> None:
    assert run("ingest", LOAD_ONLY, *NAMES, "--store", farm_copy).code == 0
    assert not (farm_copy / "snapshots").exists()
    assert run("ingest", LOAD_ONLY, *NAMES, "--snapshot", "--store", farm_copy).code == 0
    assert len(list((farm_copy / "snapshots").glob("*.duckdb"))) == 1


def test_a_snapshot_of_no_store_makes_none(run: Run, tmp_path: Path) -> None:
    done = run("store", "snapshot", "--store", tmp_path / "none")
    assert (done.code, list(tmp_path.iterdir())) == (1, [])
    assert "no store here" in done.error


def test_an_answer_from_the_snapshot_of_a_damaged_store_says_so(run: Run, farm_copy: Path) -> None:
    before = run("query", "dumps", "--store", farm_copy)
    run("store", "snapshot", "--store", farm_copy)
    (farm_copy / "warehouse.duckdb").unlink()
    done = run("query", "dumps", "--store", farm_copy)
    assert (done.code, done.out) == (0, before.out)
    told = NOTE + r"warehouse.duckdb is gone; .* 'tracehouse store rebuild'"
    assert re.fullmatch(told, done.error)


@pytest.mark.slow
def test_a_rebuild_shows_that_every_table_is_equal(run: Run, farm_copy: Path) -> None:
    done = run("store", "rebuild", "--store", farm_copy, "--format", "csv")
    header, *rows = done.text.splitlines()
    assert (done.code, done.err) == (0, "")
    assert header == "name,row_count,old_row_count,is_equal"
    assert len(rows) > 20
    assert all(row.endswith(",true") for row in rows)
    for_people = run("store", "rebuild", "--store", farm_copy).text
    assert re.fullmatch(r"148 dumps, [\d,]+ rows: all as before\n", for_people)


@pytest.mark.slow
def test_a_damaged_store_names_the_command_that_mends_it(run: Run, farm_copy: Path) -> None:
    (farm_copy / "warehouse.duckdb").write_bytes(b"DUCK" * 10_000)
    for args in (("query", "dumps"), ("sql", "SELECT 1"), ("schema",)):
        asked = run(*args, "--store", farm_copy)
        assert (asked.code, asked.out) == (1, b"")
        assert asked.error.endswith("'tracehouse store rebuild'")
    done = run("store", "rebuild", "--store", farm_copy)
    assert done.code == 0
    lines = done.err.splitlines()
    assert lines[0].startswith("note: the old file could not be read: ")
    assert lines[1].startswith(f"note: the old file is kept as {farm_copy}/warehouse.duckdb.old-")
    assert run("query", "dumps", "--store", farm_copy).code == 0


@pytest.mark.system
@pytest.mark.slow
def test_a_damaged_segment_is_named_and_the_exit_tells_it(run: Run, farm_copy: Path) -> None:
    with Inbox.open(farm_copy) as inbox:
        inbox.accept(tiny_incoming(1))
    assert run("store", "drain", "--store", farm_copy).code == 0  # into a segment of its own
    segment = Archive(farm_copy).segments()[0]
    segment.path.chmod(0o600)
    segment.path.write_bytes(segment.path.read_bytes()[:-1])
    done = run("store", "rebuild", "--store", farm_copy)
    assert (done.code, "moved to" in done.error, "--force" in done.error) == (1, True, True)
    segment = Archive(farm_copy).segments()[0]
    segment.path.chmod(0o600)
    segment.path.write_bytes(segment.path.read_bytes()[:-1])
    (farm_copy / "warehouse.duckdb").unlink()
    done = run("store", "rebuild", "--store", farm_copy)
    assert done.code == 1
    assert "a damaged segment of the archive" in done.err


def test_a_store_without_an_archive_says_what_to_do(run: Run, tmp_path: Path) -> None:
    done = run("store", "rebuild", "--store", tmp_path)
    assert (done.code, done.out) == (1, b"")
    assert done.error.endswith("has no archive to rebuild from: ingest its dumps again")


@pytest.mark.slow
def test_dumps_that_are_not_archived_are_not_lost_by_a_rebuild(run: Run, own: Path) -> None:
    dump = Path(__file__).parents[2] / "data/corpus/real/load_only.etdp"
    names = ("--device", "d", "--build", "b", "--model", "m", "--store", own)
    assert run("ingest", dump, *names).code == 0
    shutil.rmtree(own / "archive")
    assert run("store", "rebuild", "--store", own).code == 1
    assert run("ingest", dump, *names).code == 0
    assert run("store", "rebuild", "--store", own).code == 0


@pytest.mark.system
@pytest.mark.slow
def test_a_terminal_sees_progress(farm_copy: Path) -> None:
    assert "segments, " in run_on_terminal("store", "rebuild", "--store", farm_copy).text


@pytest.mark.parametrize("text", ["a = " + "[" * 5_000, ".".join("a" * 20_000) + " = 1"])
def test_settings_that_cannot_be_read_stop_a_rebuild_before_it_reads_the_store(
    run: Run, farm_copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    before = (farm_copy / "warehouse.duckdb").read_bytes()
    (tmp_path / "tracehouse.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    done = run("store", "rebuild", "--store", farm_copy)
    assert (done.code, done.out) == (1, b"")
    assert done.error.startswith("error: tracehouse.toml: not TOML: ")
    assert (farm_copy / "warehouse.duckdb").read_bytes() == before


@pytest.mark.slow
def test_a_dump_that_cannot_be_loaded_any_more_has_an_exit_status_of_its_own(
    run: Run, farm_copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert_dumps, seen = DumpRows.insert_dumps, set[str]()

    def broken(self: DumpRows, dumps: Sequence[Any], *rest: Any) -> None:
        insert_dumps(self, dumps, *rest)
        here = {dump.sha256 for dump in dumps}  # none, if all of a batch have failed already
        seen.update(sorted(here)[:1])
        if here and min(seen) in here:
            raise duckdb.ConversionException("value")

    monkeypatch.setattr(DumpRows, "insert_dumps", broken)
    done = run("store", "rebuild", "--store", farm_copy)
    assert (done.code, done.out) == (6, b"")
    assert "dumps of the archive cannot be loaded, so nothing was replaced" in done.error
    done = run("store", "rebuild", "--store", farm_copy, "--force")
    assert done.code == 6
    assert "this dump was left out; the archive keeps it" in done.err


def test_a_command_that_runs_out_of_memory_says_so_in_one_line(
    run: Run, farm_copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_out(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("tracehouse.warehouse.upkeep.rebuild.rebuild_store", run_out)
    done = run("store", "rebuild", "--store", farm_copy)
    assert (done.code, done.out) == (1, b"")
    assert done.error.startswith("error: not enough memory: free some")


def test_migrate_makes_no_store(run: Run, tmp_path: Path) -> None:
    assert "no store here" in run("store", "migrate", "--store", tmp_path / "none").error
    assert not (tmp_path / "none").exists()
    Warehouse.open_to_write(tmp_path / "store", create=True).close()
    assert run("store", "migrate", "--store", tmp_path / "store") == (0, b"", "")


def test_a_store_of_a_development_version_is_refused_until_it_is_rebuilt(
    run: Run, farm_copy: Path
) -> None:
    make_old(farm_copy / FILE_NAME)
    for command in (("query", "dumps"), ("store", "migrate"), ("store", "compact")):
        refused = run(*command, "--store", farm_copy)
        assert (refused.code, "'tracehouse store rebuild'" in refused.error) == (1, True)
    assert run("store", "rebuild", "--store", farm_copy).code == 0
    assert run("query", "dumps", "--store", farm_copy, "--format", "csv").text.count("\n") == 149


@pytest.mark.slow
def test_a_store_is_compacted_and_its_size_told(run: Run, store: Path, tmp_path: Path) -> None:
    own = Path(shutil.copytree(store, tmp_path / "own.store"))
    with Warehouse.open(own) as warehouse:
        warehouse.writing.execute("INSERT INTO events SELECT e.* FROM events AS e, range(4)")
    assert run("store", "retention", "--raw-days", 0, "--yes", "--store", own).code == 0
    before = run("query", "dumps", "--store", own).text
    done = run("store", "compact", "--store", own, "--format", "json")
    assert (done.code, done.err) == (0, "")
    (row,) = json.loads(done.text)
    assert row.keys() == {"old_bytes", "new_bytes", "n_merged_segments"}
    assert row["old_bytes"] > row["new_bytes"] == (own / "warehouse.duckdb").stat().st_size
    assert run("query", "dumps", "--store", own).text == before


@pytest.mark.slow
def test_compacting_a_compact_store_leaves_it_and_says_so(
    run: Run, store: Path, tmp_path: Path
) -> None:
    own = Path(shutil.copytree(store, tmp_path / "own.store"))
    assert run("store", "compact", "--store", own).code == 0
    before = (own / "warehouse.duckdb").stat()
    done = run("store", "compact", "--store", own, "--format", "json")
    assert done.err == (
        "note: the DuckDB file has no space to return: a copy of it is not smaller\n"
    )
    (row,) = json.loads(done.text)
    assert row["old_bytes"] == row["new_bytes"] == before.st_size
    assert (own / "warehouse.duckdb").stat().st_ino == before.st_ino
    assert list(own.glob("*.new*")) == []


def test_compacting_a_missing_store_is_an_error_and_makes_none(run: Run, tmp_path: Path) -> None:
    asked = run("store", "compact", "--store", tmp_path / "nowhere")
    assert asked.code == 1
    assert "no store here" in asked.error
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.slow
def test_retention_requires_yes_and_answers_report_dropped_events(
    run: Run, farm_copy: Path
) -> None:
    shown = run("store", "retention", "--raw-days", "0", "--store", farm_copy, "--format", "json")
    assert shown.error == "note: nothing was changed; add --yes to drop these events"
    rows = json.loads(shown.text)
    assert rows[0].keys() >= {"build", "dump_count", "event_count", "event_bytes"}
    assert run("query", "percentiles", "--store", farm_copy).err == ""
    done = run(
        "store", "retention", "--raw-days", "0", "--store", farm_copy, "--format", "json", "--yes"
    )
    assert (done.code, done.err, json.loads(done.text)) == (0, "", rows)
    count = sum(row["dump_count"] for row in rows)
    for args in (("query", "percentiles"), ("sql", "SELECT count(*) AS n FROM events")):
        asked = run(*args, "--store", farm_copy, "--format", "csv")
        assert asked.code == 0
        assert asked.error == (
            f"note: {count} of the store's dumps have no raw events any more ('tracehouse "
            "retention'); figures from raw events do not include them"
        )


def test_builds_can_be_kept(run: Run, farm_copy: Path) -> None:
    args = ("store", "retention", "--raw-days", "0", "--store", farm_copy, "--format", "json")
    builds = [row["build"] for row in json.loads(run(*args).text)]
    kept = run(*args, "--keep-builds", f"{builds[0][:-1]}[{builds[0][-1]}]")
    assert [row["build"] for row in json.loads(kept.text)] == builds[1:]
    nothing = run(*args, "--keep-builds", "*", "--yes")
    assert (nothing.code, nothing.err, json.loads(nothing.text)) == (0, "", [])


def test_retention_requires_a_valid_age(run: Run, farm_copy: Path) -> None:
    assert run("store", "retention", "--store", farm_copy).code == 2
    assert run("store", "retention", "--raw-days", "-1", "--store", farm_copy).code == 2


@pytest.mark.slow
def test_retention_with_a_lake_drops_only_events_that_the_lake_has(
    run: Run, farm_copy: Path, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    before = run("query", "percentiles", "--store", farm_copy, "--format", "json")
    args = (
        "store",
        "retention",
        "--raw-days",
        "0",
        "--store",
        farm_copy,
        "--format",
        "json",
        "--yes",
    )
    assert run(*args, "--lake", lake).code == 1
    assert run("export", "lake", lake, "--store", farm_copy).code == 0
    extra = tmp_path / "extra.etdp"
    extra.write_bytes(read_dump("real/cnn_portable_n20"))
    names = ("--device", "d", "--build", "late", "--model", "m")
    assert run("ingest", extra, *names, "--store", farm_copy).code == 0
    done = run(*args, "--lake", lake)
    assert done.error == ("note: the lake lacks 1 of the dumps; run 'tracehouse export lake' first")
    assert "late" not in {row["build"] for row in json.loads(done.text)}
    again = run("query", "percentiles", "--store", farm_copy, "--lake", lake, "--format", "json")
    assert again.error.startswith("note: raw events of ")
    assert again.error.endswith(f"dumps were read from {lake}")
    wanted = {json.dumps(row) for row in json.loads(before.text)}
    assert wanted <= {json.dumps(row) for row in json.loads(again.text)}
    assert run("query", "dumps", "--store", farm_copy, "--lake", lake).err == ""


def test_a_dump_is_deleted_only_with_yes(run: Run, farm_copy: Path) -> None:
    dumps = json.loads(run("query", "dumps", "--store", farm_copy, "--format", "json").text)
    sha256 = dumps[0]["sha256"]
    args = ("store", "forget", "--dump", sha256[:12], "--store", farm_copy, "--format", "json")
    shown = run(*args)
    assert [row["sha256"] for row in json.loads(shown.text)] == [sha256]
    assert shown.error == "note: nothing was changed; add --yes to delete these dumps for good"
    assert run("store", "archive", "get", sha256, "--store", farm_copy).code == 0
    (farm_copy / "warehouse.duckdb.old-1").touch()
    done = run(*args, "--yes")
    assert (done.code, done.text) == (0, shown.text)
    assert done.error.endswith(
        "old-1: an old file was kept, which may contain forgotten dumps; delete it"
    )
    assert "has no file" in run("store", "archive", "get", sha256, "--store", farm_copy).error
    left = json.loads(run("query", "dumps", "--store", farm_copy, "--format", "json").text)
    assert left == dumps[1:]


def test_several_filters_must_all_match(run: Run, farm_copy: Path) -> None:
    dumps = json.loads(run("query", "dumps", "--store", farm_copy, "--format", "json").text)
    device, build = dumps[0]["device"], dumps[0]["build"]
    args = ("--device", device, "--build", build, "--store", farm_copy, "--format", "json")
    chosen = {row["dump_id"] for row in json.loads(run("store", "forget", *args).text)}
    assert chosen == {
        row["dump_id"] for row in dumps if (row["device"], row["build"]) == (device, build)
    }
    assert 0 < len(chosen) < len(dumps)


def test_forget_requires_a_filter(run: Run, farm_copy: Path) -> None:
    asked = run("store", "forget", "--store", farm_copy, "--yes")
    assert (asked.code, asked.out) == (2, b"")
    assert "no dumps are chosen" in asked.error
    asked = run("store", "forget", "--device", "nobody", "--store", farm_copy, "--yes")
    assert asked.code == 1
    assert "has no dump with device=nobody" in asked.error


@pytest.mark.slow
def test_status_tells_what_ends_a_forget_that_was_interrupted(
    run: Run, farm_copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dumps = json.loads(run("query", "dumps", "--store", farm_copy, "--format", "json").text)
    args = ("--dump", dumps[0]["sha256"], "--store", farm_copy, "--yes")
    with monkeypatch.context() as patched:
        patched.setattr(compaction, "compact_store", _fail)
        done = run("store", "forget", *args)
    assert done.code == 1
    assert "the disk is full; dumps were forgotten, but free blocks" in done.error
    done = run("status", "--store", farm_copy)
    assert (done.code, done.error.startswith("note: dumps were forgotten")) == (0, True)
    assert done.error.endswith("until 'tracehouse store compact' is run")
    assert run("store", "compact", "--store", farm_copy).code == 0
    assert run("status", "--store", farm_copy).err == ""


@pytest.mark.slow
def test_an_interrupted_forget_is_done_when_it_is_repeated(
    run: Run, farm_copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dumps = json.loads(run("query", "dumps", "--store", farm_copy, "--format", "json").text)
    args = ("store", "forget", "--dump", dumps[0]["sha256"], "--store", farm_copy, "--yes")
    with monkeypatch.context() as patched:
        patched.setattr(compaction, "compact_store", _fail)
        assert run(*args).code == 1
    done = run(*args)
    assert (done.code, done.text) == (0, "")
    assert done.error.startswith("note: completed an interrupted 'tracehouse store forget'")
    assert run("status", "--store", farm_copy).err == ""
    again = run(*args)
    assert (again.code, "has no dump with" in again.error) == (1, True)


def _fail(*_: object, **__: object) -> None:
    raise StoreError("store", "the disk is full")


def dumps(run: Run, store: Path) -> list[dict[str, object]]:
    rows = json.loads(run("query", "dumps", "--store", store, "--format", "json").text)
    return list(rows)


@pytest.mark.slow
def test_changes_are_shown_and_done_only_with_yes(run: Run, farm_copy: Path) -> None:
    before = dumps(run, farm_copy)
    device, build = before[0]["device"], before[0]["build"]
    args = ("store", "amend", "--where", f"device={device},build={build}", "--set", "build=a,b=c",
            "--set", "tags.lab=3", "--store", farm_copy, "--format", "json")  # fmt: skip
    shown = run(*args)
    assert shown.error == "note: nothing was changed; add --yes to correct these manifests"
    rows = json.loads(shown.text)
    assert {(row["field"], row["old"], row["new"]) for row in rows} == {
        ("build.id", f"'{build}'", "'a,b=c'"),
        ("tags.lab", "nothing", "'3'"),
    }
    assert dumps(run, farm_copy) == before
    done = run(*args, "--yes")
    assert (done.code, done.err, done.text) == (0, "", shown.text)
    amended = {row["dump_id"] for row in rows}
    assert {row["dump_id"] for row in dumps(run, farm_copy) if row["build"] == "a,b=c"} == amended


def test_one_dump_is_named_by_its_hash(run: Run, farm_copy: Path) -> None:
    sha256 = str(dumps(run, farm_copy)[1]["sha256"])
    done = run(
        "store", "amend", "--dump", sha256[:8], "--set", "os=QNX", "--yes", "--store", farm_copy
    )
    assert (done.code, done.err) == (0, "")
    question = "SELECT sha256 FROM named_dumps WHERE os = 'QNX'"
    found = run("sql", question, "--store", farm_copy, "--format", "csv")
    assert found.text.split() == ["sha256", sha256]


def test_a_malformed_amend_option_is_refused(run: Run, farm_copy: Path) -> None:
    for args, problem in (
        (("--where", "device", "--set", "build=x"), "found 'device', wanted FIELD=VALUE"),
        (("--set", "build=x"), "no dumps are chosen"),
        (("--where", "device=x", "--set", "bild=x"), "--set: no field 'bild'"),
    ):
        asked = run("store", "amend", *args, "--store", farm_copy)
        assert asked.code == 2
        assert problem in asked.err


def hand_over(store: Path, count: int) -> None:
    Warehouse.open_to_write(store, create=True).close()
    with Inbox.open(store) as inbox:
        for number in range(count):
            inbox.accept(tiny_incoming(number))


@pytest.mark.system
def test_handed_over_dumps_are_ingested(run: Run, tmp_path: Path) -> None:
    hand_over(tmp_path, 3)
    outcome = run("store", "drain", "--store", tmp_path, "--format", "json")
    assert (outcome.code, outcome.err) == (0, "")
    assert json.loads(outcome.text)[0]["dumps"] == 3
    again = run("store", "drain", "--store", tmp_path, "--format", "json")
    assert (again.code, json.loads(again.text)[0]["files"]) == (0, 0)


@pytest.mark.system
def test_the_help_and_the_docs_tell_what_decoding_may_take(run: Run) -> None:
    help_ = " ".join(run("store", "drain", "--help").text.replace("│", " ").split())
    memory = f"{children.MOST_BYTES >> 30} GiB", f"{children.BYTES_PER_BYTE} bytes per byte"
    time = (
        f"{children.MOST_SECONDS:.0f} s",
        f"{children.SECONDS_PER_BYTE * (1 << 20):.0f} s per MiB",
    )
    assert (
        f"{memory[0]} of memory plus {memory[1]} of dumps, and at most {' plus '.join(time)}"
        in help_
    )
    limits = (ROOT / "docs/limits.md").read_text()
    assert f"| {' + '.join(memory)} |" in limits
    assert f"| {' + '.join(time)} |" in limits


@pytest.mark.system
def test_draining_a_damaged_log_reports_it_and_fails(run: Run, tmp_path: Path) -> None:
    hand_over(tmp_path, 1)
    (log,) = (tmp_path / "inbox").glob("*.log")
    log.write_bytes(b"\xff" + log.read_bytes()[1:])
    outcome = run("store", "drain", "--store", tmp_path)
    assert outcome.code == 1
    assert outcome.error.endswith("submit its dumps again [damaged]")


@pytest.mark.system
@pytest.mark.slow
def test_a_torn_log_end_is_reported_but_the_drain_succeeds(run: Run, tmp_path: Path) -> None:
    hand_over(tmp_path, 1)
    (log,) = (tmp_path / "inbox").glob("*.log")
    log.write_bytes(log.read_bytes() + bytes(99))
    outcome = run("store", "drain", "--store", tmp_path)
    assert outcome.code == 0
    assert outcome.error.endswith("they were not acknowledged, unless the file was truncated")


@pytest.mark.system
def test_draining_a_missing_store_is_an_error(run: Run, tmp_path: Path) -> None:
    outcome = run("store", "drain", "--store", tmp_path / "gone")
    assert outcome.code == 1
    assert "no store here" in outcome.error


@pytest.mark.system
@pytest.mark.slow
def test_an_ingest_takes_what_was_handed_over_too(run: Run, tmp_path: Path) -> None:
    store, file = tmp_path / "store", write(tmp_path / "9.etdp", tiny_dump(9))
    hand_over(store, 2)
    outcome = run("ingest", file, *PIXEL, "--store", store, "--format", "json")
    row = json.loads(outcome.text)[0]
    assert (outcome.code, row["files"], row["dumps"]) == (0, 3, 3)


def test_a_file_comes_back_bit_for_bit(run: Run, store: Path, tmp_path: Path) -> None:
    assert (
        run("store", "archive", "get", SHA256[:12].upper(), "--store", store).out
        == DUMP.read_bytes()
    )
    target = tmp_path / "again.etdp"
    assert run("store", "archive", "get", SHA256, "--store", store, "--output", target).code == 0
    assert target.read_bytes() == DUMP.read_bytes()


def test_a_file_appears_when_it_is_whole(run: Run, store: Path, tmp_path: Path) -> None:
    target, other = tmp_path / "again.etdp", tmp_path / "other.etdp"
    other.write_bytes(b"before")
    target.hardlink_to(other)
    assert run("store", "archive", "get", SHA256, "--store", store, "--output", target).code == 0
    assert (target.read_bytes(), other.read_bytes()) == (DUMP.read_bytes(), b"before")


def test_a_hash_that_names_no_file_or_several_is_an_error(run: Run, store: Path) -> None:
    for prefix, problem in (
        ("f" * 64, "has no file whose SHA-256 begins with"),
        ("abc", "wanted the first 6 or more hex digits of a SHA-256"),
        ("not hex", "wanted the first 6 or more hex digits of a SHA-256"),
    ):
        asked = run("store", "archive", "get", prefix, "--store", store)
        assert (asked.code, asked.out) == (1, b"")
        assert problem in asked.error


@pytest.mark.system
def test_bytes_do_not_go_to_a_terminal(store: Path) -> None:
    shown = run_on_terminal("store", "archive", "get", SHA256, "--store", store)
    assert shown.code == 2
    assert "--output FILE" in shown.text


def test_verifying_an_intact_archive_reports_no_problem(run: Run, store: Path) -> None:
    done = run("store", "archive", "verify", "--store", store, "--format", "json")
    rows = json.loads(done.text)
    assert done.code == 0
    assert {row["problem"] for row in rows} == {""}
    counted = run("sql", "SELECT count(*) FROM dumps", "--store", store, "--format", "csv")
    assert sum(row["file_count"] for row in rows) == int(counted.text.split()[1])


def test_a_damaged_or_missing_segment_is_reported(run: Run, store: Path, tmp_path: Path) -> None:
    own = Path(shutil.copytree(store, tmp_path / "own.store"))
    segment = Archive(own).segments()[0]
    data = bytearray(segment.path.read_bytes())
    data[len(data) // 2] ^= 1
    segment.path.chmod(0o600)
    segment.path.write_bytes(data)
    done = run("store", "archive", "verify", "--store", own, "--format", "json")
    assert (done.code, "is damaged" in json.loads(done.text)[0]["problem"]) == (1, True)
    segment.path.unlink()
    done = run("store", "archive", "verify", "--store", own, "--format", "csv")
    assert (done.code, done.text.splitlines()[-1]) == (1, "1,1,0,0,0,is gone")


def test_an_archive_of_no_store_is_not_whole(run: Run, tmp_path: Path) -> None:
    done = run("store", "archive", "verify", "--store", tmp_path / "misspelt")
    assert (done.code, done.text) == (1, "")
    assert "misspelt: no store here" in done.error
