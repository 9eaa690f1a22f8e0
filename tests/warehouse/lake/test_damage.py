from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from tests.support.lakes import fill, rows_only_farm
from tracehouse import Warehouse
from tracehouse.warehouse.errors import LakeError, StatementError
from tracehouse.warehouse.lake.commits import lake_errors
from tracehouse.warehouse.lake.compaction import compact_lake
from tracehouse.warehouse.lake.exporting import export_store
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.lake.verification import find_whole_dumps


def remove(file: Path) -> str:
    """Delete a file, and say what is wrong then."""
    file.unlink()
    return "is gone"


def cut(file: Path) -> str:
    """Leave half of a file, and say what is wrong then."""
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2])
    return f"has {len(data) // 2:,} bytes, wanted {len(data):,}"


def query(place: Path, farm: duckdb.DuckDBPyConnection) -> None:
    with Warehouse.open_lake(place) as warehouse:
        warehouse.query("percentiles")


def ask(place: Path, farm: duckdb.DuckDBPyConnection) -> None:
    with Warehouse.open_lake(place) as warehouse:
        warehouse.sql("SELECT count(DISTINCT dump_id) AS n FROM events")


def export(place: Path, farm: duckdb.DuckDBPyConnection) -> None:
    export_store(farm, Lake(place))


def compact(place: Path, farm: duckdb.DuckDBPyConnection) -> None:
    compact_lake(Lake(place))


def find_held(place: Path, farm: duckdb.DuckDBPyConnection) -> None:
    find_whole_dumps(Lake(place), ["0" * 64])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, duckdb.DuckDBPyConnection]:
    """A whole lake, and the farm that it is of."""
    place, farm = tmp_path_factory.mktemp("made") / "lake", rows_only_farm()
    fill(place, farm, [1, 2])
    fill(place, farm, [3, 4])
    return place, farm


@pytest.mark.parametrize(
    ("use", "table", "damage"),
    [
        (query, "devices", remove),
        (ask, "events", remove),
        (ask, "events", cut),
        (export, "dumps", remove),
        (compact, "dumps", cut),
        (compact, "events", remove),
        (find_held, "dumps", cut),
    ],
)
def test_a_file_that_is_gone_or_cut_is_named_with_what_tells_of_all(
    made: tuple[Path, duckdb.DuckDBPyConnection],
    tmp_path: Path,
    damage: Callable[[Path], str],
    use: Callable[[Path, duckdb.DuckDBPyConnection], None],
    table: str,
) -> None:
    place, farm = made
    shutil.copytree(place, tmp_path / "lake")
    file = max((tmp_path / "lake" / table).rglob("*.parquet"))
    problem = damage(file)
    with pytest.raises(LakeError) as caught:
        use(tmp_path / "lake", farm)
    path = file.relative_to(tmp_path / "lake").as_posix()
    remedy = f"list all problems with: tracehouse lake verify {tmp_path / 'lake'}"
    assert str(caught.value) == f"{tmp_path / 'lake'}: {path} {problem}; {remedy}"


def test_errors_in_an_undamaged_lake_are_reported_unchanged(tmp_path: Path) -> None:
    Lake(tmp_path).begin()
    with pytest.raises(OSError, match="another"), lake_errors(Lake(tmp_path)):
        raise OSError("another")


def test_a_mistyped_statement_is_reported_even_if_lake_files_are_missing(
    made, tmp_path: Path
) -> None:
    shutil.copytree(made[0], tmp_path / "lake")
    with Warehouse.open_lake(tmp_path / "lake") as warehouse:
        warehouse.sql("SELECT 1")
        max((tmp_path / "lake/events").rglob("*.parquet")).unlink()
        with pytest.raises(StatementError, match="nonsense"):
            warehouse.sql("SELECT nonsense")
