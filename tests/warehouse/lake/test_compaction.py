from __future__ import annotations

import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.kills import environment
from tests.support.lakes import dump_ids, files_of, fill, rows_of, rows_only_farm
from tracehouse import Warehouse
from tracehouse.warehouse.lake import compaction
from tracehouse.warehouse.lake.commits import read_state
from tracehouse.warehouse.lake.compaction import GRACE, compact_lake
from tracehouse.warehouse.lake.layout import COMMITS, FACTS, SHARED_TABLES
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.lake.verification import verify_lake

Contents = dict[str, list[str]]
LATER = datetime.now(UTC) + 2 * GRACE
COMPACT = "import sys; from tracehouse.warehouse.lake.compaction import compact_lake as c\n" + (
    "from tracehouse.warehouse.lake.place import Lake; from datetime import datetime\n"
    "c(Lake(sys.argv[1]), now=datetime.fromisoformat(sys.argv[2]))"
)


@pytest.fixture(scope="module")
def farm():
    return rows_only_farm()


@pytest.fixture(scope="module")
def made(farm, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of ten parts, from as many commits."""
    folder = tmp_path_factory.mktemp("made")
    for first in range(1, 41, 4):
        fill(folder, farm, range(first, first + 4))
    return folder


@pytest.fixture(scope="module")
def before(made: Path) -> Contents:
    """What is in that lake."""
    return contents(made)


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Path:
    """That lake, to compact."""
    return Path(shutil.copytree(made, tmp_path, dirs_exist_ok=True))


def contents(place: Path) -> Contents:
    facts = {table: sorted(map(repr, rows_of(place, table))) for table in FACTS}
    names = {table: sorted(set(map(repr, rows_of(place, table)))) for table in SHARED_TABLES}
    return facts | names


def parquet_files(place: Path) -> set[str]:
    return {path.relative_to(place).as_posix() for path in place.rglob("*.parquet")}


def test_small_parts_are_merged_and_large_ones_stay(
    farm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for dumps in ([1, 2], [3, 4], [5, 6], [7, 8]):
        fill(tmp_path, farm, dumps)
    before, parts = contents(tmp_path), files_of(tmp_path, "events")
    with monkeypatch.context() as patched:
        patched.setattr(compaction, "PART_BYTES", 1)
        compact_lake(Lake(tmp_path))
        assert files_of(tmp_path, "events") == parts
    monkeypatch.setattr(compaction, "_LEAST_SHARED_FILES", 4)
    done = compact_lake(Lake(tmp_path))
    assert contents(tmp_path) == before
    assert all(len(files_of(tmp_path, table)) <= 1 for table in (*FACTS, *SHARED_TABLES))
    assert verify_lake(Lake(tmp_path)) == []
    assert (done.deleted_files, done.folded_commits) == (0, 0)
    assert compact_lake(Lake(tmp_path)) == (0, 0, 0, 0)


@pytest.mark.slow
def test_merged_parts_are_no_larger_than_need_be(
    place: Path, before: Contents, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = max(file.bytes for file in files_of(place, "events"))
    monkeypatch.setattr(compaction, "PART_BYTES", 3 * size)
    compact_lake(Lake(place))
    assert 2 <= len(files_of(place, "events")) <= 5
    assert contents(place) == before


@pytest.mark.slow
def test_readers_of_before_go_on_until_the_grace_is_over(farm, place: Path) -> None:
    text = "SELECT count(*) AS n, sum(duration_ticks) AS t FROM events"
    wanted = farm.sql(text).to_arrow_table().to_pylist()
    with Warehouse.open_lake(place) as lake:
        compact_lake(Lake(place))
        assert lake.sql(text).to_pylist() == wanted
    old = parquet_files(place) - read_state(Lake(place)).files.keys()
    done = compact_lake(Lake(place), now=LATER)
    assert done.deleted_files == len(old) > 0
    assert parquet_files(place) == read_state(Lake(place)).files.keys()
    with Warehouse.open_lake(place) as lake:
        assert lake.sql(text).to_pylist() == wanted


@pytest.mark.slow
def test_old_commits_are_folded_into_one_that_says_the_same(place: Path, before: Contents) -> None:
    compact_lake(Lake(place))
    files = read_state(Lake(place)).files
    compact_lake(Lake(place), now=LATER)
    assert read_state(Lake(place)).files == files
    assert len(list((place / COMMITS).iterdir())) == 1
    assert contents(place) == before


@pytest.mark.slow
def test_compaction_removes_duplicate_dumps(farm, place: Path, before: Contents) -> None:
    fill(place, farm, [1, 7])
    assert verify_lake(Lake(place)) != []
    compact_lake(Lake(place))
    assert contents(place) == before
    assert verify_lake(Lake(place)) == []


@pytest.mark.slow
def test_compaction_keeps_dumps_added_meanwhile_by_another_writer(
    farm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path, farm, [1, 2])
    fill(tmp_path, farm, [3])
    again = compaction.rewrite_parts

    def rewrite_parts(*args, **options):
        fill(tmp_path, farm, [4])
        return again(*args, **options)

    monkeypatch.setattr(compaction, "rewrite_parts", rewrite_parts)
    compact_lake(Lake(tmp_path))
    assert len(rows_of(tmp_path, "dumps")) == 4
    assert verify_lake(Lake(tmp_path)) == []


@pytest.mark.slow
def test_two_compactions_at_once_lose_and_double_nothing(
    farm, place: Path, before: Contents, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = compaction.rewrite_parts

    def rewrite_parts(*args, **options):
        monkeypatch.setattr(compaction, "rewrite_parts", again)
        compact_lake(Lake(place))
        return again(*args, **options)

    monkeypatch.setattr(compaction, "rewrite_parts", rewrite_parts)
    compact_lake(Lake(place))
    assert contents(place) == before
    compact_lake(Lake(place), now=LATER)
    compact_lake(Lake(place), now=LATER + timedelta(days=2))
    assert contents(place) == before
    assert verify_lake(Lake(place)) == []
    assert parquet_files(place) == read_state(Lake(place)).files.keys()


@pytest.mark.system
@pytest.mark.slow
def test_a_compaction_killed_at_any_moment_is_completed_by_the_next(
    farm, place: Path, before: Contents
) -> None:
    for moment in ("lake file:4", "lake file:13", "lake commit:1", "lake committed:1"):
        for now in (datetime.now(UTC), LATER):
            args = [sys.executable, "-c", COMPACT, str(place), now.isoformat()]
            subprocess.run(args, env=os.environ | environment(moment))
            assert contents(place) == before
            assert verify_lake(Lake(place)) == []
        fill(place, farm, dump_ids(farm)[:0])
    compact_lake(Lake(place), now=LATER)
    assert len(files_of(place, "events")) == 1
    compact_lake(Lake(place), now=LATER)
    assert parquet_files(place) == read_state(Lake(place)).files.keys()
    assert contents(place) == before
