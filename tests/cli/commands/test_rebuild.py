from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.support.command import Run, run_on_terminal
from tests.support.tiny_dumps import tiny_incoming
from tracehouse import Inbox
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.load.dump_rows import DumpRows


@pytest.mark.slow
def test_a_rebuild_shows_that_every_table_is_equal(run: Run, farm_copy: Path) -> None:
    done = run("rebuild", "--store", farm_copy, "--format", "csv")
    header, *rows = done.text.splitlines()
    assert (done.code, done.err) == (0, "")
    assert header == "name,row_count,old_row_count,is_equal"
    assert len(rows) > 20
    assert all(row.endswith(",true") for row in rows)


@pytest.mark.slow
def test_a_damaged_store_names_the_command_that_mends_it(run: Run, farm_copy: Path) -> None:
    (farm_copy / "warehouse.duckdb").write_bytes(b"DUCK" * 10_000)
    for args in (("query", "dumps"), ("sql", "SELECT 1"), ("schema",)):
        asked = run(*args, "--store", farm_copy)
        assert (asked.code, asked.out) == (1, b"")
        assert asked.error.endswith("'tracehouse rebuild'")
    done = run("rebuild", "--store", farm_copy)
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
    assert run("drain", "--store", farm_copy).code == 0  # into a segment of its own
    segment = Archive(farm_copy).segments()[0]
    segment.path.chmod(0o600)
    segment.path.write_bytes(segment.path.read_bytes()[:-1])
    done = run("rebuild", "--store", farm_copy)
    assert (done.code, "moved to" in done.error, "--force" in done.error) == (1, True, True)
    segment = Archive(farm_copy).segments()[0]
    segment.path.chmod(0o600)
    segment.path.write_bytes(segment.path.read_bytes()[:-1])
    (farm_copy / "warehouse.duckdb").unlink()
    done = run("rebuild", "--store", farm_copy)
    assert done.code == 1
    assert "a damaged segment of the archive" in done.err


def test_a_store_without_an_archive_says_what_to_do(run: Run, tmp_path: Path) -> None:
    done = run("rebuild", "--store", tmp_path)
    assert (done.code, done.out) == (1, b"")
    assert done.error.endswith("has no archive to rebuild from: ingest its dumps again")


@pytest.mark.slow
def test_dumps_that_are_not_archived_are_not_lost_by_a_rebuild(run: Run, own: Path) -> None:
    dump = Path(__file__).parents[2] / "data/corpus/real/load_only.etdp"
    names = ("--device", "d", "--build", "b", "--model", "m", "--store", own)
    assert run("ingest", dump, *names, "--no-archive").code == 0
    assert not (own / "archive").exists()
    assert run("rebuild", "--store", own).code == 1
    assert run("ingest", dump, *names).code == 0
    assert run("rebuild", "--store", own).code == 0


@pytest.mark.system
@pytest.mark.slow
def test_a_terminal_sees_progress(farm_copy: Path) -> None:
    assert "segments, " in run_on_terminal("rebuild", "--store", farm_copy).text


@pytest.mark.parametrize("text", ["a = " + "[" * 5_000, ".".join("a" * 20_000) + " = 1"])
def test_settings_that_cannot_be_read_stop_a_rebuild_before_it_reads_the_store(
    run: Run, farm_copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    before = (farm_copy / "warehouse.duckdb").read_bytes()
    (tmp_path / "tracehouse.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    done = run("rebuild", "--store", farm_copy)
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
    done = run("rebuild", "--store", farm_copy)
    assert (done.code, done.out) == (6, b"")
    assert "dumps of the archive cannot be loaded, so nothing was replaced" in done.error
    done = run("rebuild", "--store", farm_copy, "--force")
    assert done.code == 6
    assert "this dump was left out; the archive keeps it" in done.err


def test_a_command_that_runs_out_of_memory_says_so_in_one_line(
    run: Run, farm_copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_out(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("tracehouse.warehouse.upkeep.rebuild.rebuild_store", run_out)
    done = run("rebuild", "--store", farm_copy)
    assert (done.code, done.out) == (1, b"")
    assert done.error.startswith("error: not enough memory: free some")
