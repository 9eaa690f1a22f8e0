from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.support.lakes import dump_ids, files_of, fill, rows_only_farm
from tracehouse.warehouse.errors import LakeError
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.lake.verification import find_whole_dumps, verify_lake


@pytest.fixture(scope="module")
def farm():
    return rows_only_farm()


@pytest.fixture(scope="module")
def made(farm, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("made") / "lake"
    fill(place, farm, dump_ids(farm)[:4])
    return place


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "lake"))


def hashes(farm) -> list[str]:
    rows = farm.execute("SELECT sha256 FROM dumps WHERE dump_id <= 5").fetchall()
    return [row[0] for row in rows]


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def spoil(file: Path) -> None:
    data = file.read_bytes()
    file.write_bytes(data[:-8] + bytes(4) + data[-4:])


def lose_rows(file: Path) -> None:
    size = file.stat().st_size
    pq.write_table(pq.read_table(file, partitioning=None).slice(1), file, compression="none")
    file.write_bytes(file.read_bytes()) if file.stat().st_size == size else None


def test_a_lake_as_it_was_written_is_whole(farm, place: Path) -> None:
    assert verify_lake(Lake(place)) == []
    assert find_whole_dumps(Lake(place), hashes(farm)) == set(hashes(farm)[:4])


@pytest.mark.parametrize(
    ("table", "fault", "problem"),
    [
        ("events", Path.unlink, "is gone"),
        ("dumps", cut, "bytes, wanted"),
        ("devices", spoil, "is damaged"),
        ("dumps", spoil, "is damaged"),
        ("events", lose_rows, "wanted"),
    ],
)
def test_a_damaged_file_is_found(
    farm, place: Path, table: str, fault: Callable[[Path], None], problem: str
) -> None:
    (file,) = files_of(place, table)
    fault(place / file.path)
    (found,) = verify_lake(Lake(place))
    assert found.place == file.path
    assert problem in found.problem
    assert found.remedy
    if table != "devices":
        with pytest.raises((LakeError, FileNotFoundError)):
            find_whole_dumps(Lake(place), hashes(farm))


def test_a_file_of_other_columns_is_found(place: Path) -> None:
    (file,) = files_of(place, "models")
    before = (place / file.path).read_bytes()
    table = pq.read_table(place / file.path).rename_columns(["model_id", "named", "b", "q"])
    pq.write_table(table, place / file.path)
    commit = next((place / "_lake/commits").iterdir())
    size = (place / file.path).stat().st_size
    commit.write_text(commit.read_text().replace(f'"bytes": {len(before)}', f'"bytes": {size}'))
    (found,) = verify_lake(Lake(place))
    assert found.problem == "has other columns than the table models"


def test_a_dump_that_lacks_events_is_found_and_is_not_whole(farm, place: Path) -> None:
    fill(place, farm, dump_ids(farm)[4:5])
    commit = max((place / "_lake/commits").iterdir())
    text = commit.read_text()
    path = next(file.path for file in files_of(place, "events") if f'"{file.path}"' in text)
    commit.write_text(text.replace('"removed": []', f'"removed": ["{path}"]'))
    (place / path).unlink()
    (found,) = verify_lake(Lake(place))
    assert found.place == f"dump {hashes(farm)[4]}"
    assert "has 0 events" in found.problem
    assert find_whole_dumps(Lake(place), hashes(farm)) == set(hashes(farm)[:4])


def test_verify_finds_duplicate_dumps_and_uncommitted_files(farm, place: Path) -> None:
    fill(place, farm, dump_ids(farm)[3:5])
    stray = place / "events/date=2026-01-01/model=net/stray.parquet"
    shutil.copy(place / files_of(place, "events")[0].path, stray)
    found = {problem.place: problem.problem for problem in verify_lake(Lake(place))}
    assert found == {
        f"dump {hashes(farm)[3]}": "is in several parts",
        stray.relative_to(place).as_posix(): "is in no commit",
    }


def test_verifying_a_folder_without_a_lake_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LakeError, match="no lake here"):
        verify_lake(Lake(tmp_path))
