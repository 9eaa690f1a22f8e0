from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.support.command import run_on_terminal
from tests.support.tiny_dumps import tiny_incoming
from warehouse import Inbox
from warehouse.archive.archive import Archive


@pytest.fixture
def own(store: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(store, tmp_path / "own.store"))


@pytest.mark.slow
def test_a_rebuild_shows_that_every_table_is_equal(run: Run, own: Path) -> None:
    done = run("rebuild", "--store", own, "--format", "csv")
    header, *rows = done.text.splitlines()
    assert (done.code, done.err) == (0, "")
    assert header == "name,row_count,old_row_count,is_equal"
    assert len(rows) > 20
    assert all(row.endswith(",true") for row in rows)


@pytest.mark.slow
def test_a_damaged_store_names_the_command_that_mends_it(run: Run, own: Path) -> None:
    (own / "warehouse.duckdb").write_bytes(b"DUCK" * 10_000)
    for args in (("query", "dumps"), ("sql", "SELECT 1"), ("schema",)):
        asked = run(*args, "--store", own)
        assert (asked.code, asked.out) == (1, b"")
        assert asked.error.endswith("'tracehouse rebuild'")
    done = run("rebuild", "--store", own)
    assert done.code == 0
    lines = done.err.splitlines()
    assert lines[0].startswith("note: the old file could not be read: ")
    assert lines[1].startswith(f"note: the old file is kept as {own}/warehouse.duckdb.old-")
    assert run("query", "dumps", "--store", own).code == 0


@pytest.mark.system
@pytest.mark.slow
def test_a_damaged_segment_is_named_and_the_exit_tells_it(run: Run, own: Path) -> None:
    with Inbox.open(own) as inbox:
        inbox.accept(tiny_incoming(1))
    assert run("drain", "--store", own).code == 0  # into a segment of its own
    segment = Archive(own).segments()[0]
    segment.path.chmod(0o600)
    segment.path.write_bytes(segment.path.read_bytes()[:-1])
    done = run("rebuild", "--store", own)
    assert (done.code, "moved to" in done.error, "--force" in done.error) == (1, True, True)
    segment = Archive(own).segments()[0]
    segment.path.chmod(0o600)
    segment.path.write_bytes(segment.path.read_bytes()[:-1])
    (own / "warehouse.duckdb").unlink()
    done = run("rebuild", "--store", own)
    assert done.code == 1
    assert "a damaged segment of the archive" in done.err


def test_a_store_without_an_archive_says_what_to_do(run: Run, tmp_path: Path) -> None:
    done = run("rebuild", "--store", tmp_path)
    assert (done.code, done.out) == (1, b"")
    assert done.error.endswith("has no archive to rebuild from: ingest its dumps again")


@pytest.mark.slow
def test_dumps_that_are_not_archived_are_not_lost_by_a_rebuild(
    run: Run, store: Path, tmp_path: Path
) -> None:
    own = tmp_path / "bare.store"
    dump = Path(__file__).parents[2] / "data/corpus/real/load_only.etdp"
    names = ("--device", "d", "--build", "b", "--model", "m", "--store", own)
    assert run("ingest", dump, *names, "--no-archive").code == 0
    assert not (own / "archive").exists()
    assert run("rebuild", "--store", own).code == 1
    assert run("ingest", dump, *names).code == 0
    assert run("rebuild", "--store", own).code == 0


@pytest.mark.system
@pytest.mark.slow
def test_a_terminal_sees_progress(own: Path) -> None:
    assert "segments, " in run_on_terminal("rebuild", "--store", own).text
