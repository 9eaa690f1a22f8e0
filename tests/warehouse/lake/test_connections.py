from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cross_section import cross_section
from tests.support.lakes import fill, real_looking_farm, shared_numbers
from tests.support.questions import every_query, needs_rich_farm, question
from tests.support.rich_farm import rich_farm
from tests.support.store_rows import AskedConnection
from tracehouse import Warehouse
from tracehouse.warehouse.catalogue.views import load_views
from tracehouse.warehouse.engine.aligned_operators import VIEW
from tracehouse.warehouse.errors import LakeError, StatementError, StoreError
from tracehouse.warehouse.lake.layout import TABLES
from tracehouse.warehouse.lake.place import Lake


@pytest.fixture(scope="module")
def farm():
    return real_looking_farm()


@pytest.fixture(scope="module")
def place(farm, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lake")
    fill(folder, farm)
    return folder


@pytest.fixture(scope="module")
def lake(place: Path) -> Iterator[Warehouse]:
    """That lake, open."""
    with Warehouse.open_lake(place) as opened:
        yield opened


def renumbered(rows, numbers):
    return [
        {name: numbers.get(value, value) if name.endswith("dump_id") else value
         for name, value in row.items()}
        for row in rows
    ]  # fmt: skip


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory):
    """Another farm, for queries to which the small one has no answer, and its lake."""
    farm = real_looking_farm(rich_farm)
    folder = tmp_path_factory.mktemp("rich")
    fill(folder, farm)
    with Warehouse.open_lake(folder) as opened:
        yield farm, opened


@pytest.mark.parametrize("name", cross_section(sorted(every_query(), key=needs_rich_farm), 9))
def test_lake_answers_as_the_store_does(farm, lake: Warehouse, rich, name: str) -> None:
    if needs_rich_farm(name):
        farm, lake = rich
    numbers, asked = shared_numbers(farm), question(name)
    wanted = AskedConnection(farm).query(name, **asked)
    asked = {key: numbers[value] if key == "dump" else value for key, value in asked.items()}
    found = lake.query(name, **asked)
    assert wanted.num_rows
    rows, answer = renumbered(wanted.to_pylist(), numbers), found.to_pylist()
    if "dump_id" in wanted.column_names:  # the order of numbers is another
        rows.sort(key=repr)
        answer.sort(key=repr)
    assert answer == rows


@pytest.mark.slow
def test_views_and_tables_are_those_of_the_store(farm, lake: Warehouse) -> None:
    for name in [*TABLES, *load_views().keys() - {VIEW}]:  # which a bare connection has not filled
        text = f"SELECT count(*) AS n FROM {name}"  # noqa: S608
        assert lake.sql(text).to_pylist() == farm.sql(text).to_arrow_table().to_pylist(), name


def test_sql_changes_nothing_and_reads_no_other_file(
    lake: Warehouse, place: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.csv"
    other.write_text("x\n1\n")
    for text in (
        f"COPY (SELECT 1) TO '{place}/events/x.parquet'",
        f"SELECT * FROM read_csv('{other}')",  # noqa: S608
        f"SELECT * FROM '{other}'",  # noqa: S608
        f"SELECT * FROM read_parquet('{place}/devices/*.parquet')",  # noqa: S608
    ):
        with pytest.raises(StatementError):
            lake.sql(text)
    text = f"SELECT * FROM read_csv('{other}')"  # noqa: S608
    assert lake.sql(text, allow_files=True).to_pylist() == [{"x": 1}]


def test_opening_a_missing_or_empty_lake_fails_and_a_lake_refuses_ingest(
    lake: Warehouse, tmp_path: Path
) -> None:
    with pytest.raises(LakeError, match="no lake here"):
        Warehouse.open_lake(tmp_path / "none")
    Lake(tmp_path).begin()
    with pytest.raises(LakeError, match="this lake is empty: run the export or ingest"):
        Warehouse.open_lake(tmp_path)
    with pytest.raises(StoreError, match="opened to be read"):
        lake.ingest([])


def test_files_that_no_commit_names_are_not_read(farm, place: Path) -> None:
    (file,) = place.glob("events/*/*/*.parquet")
    stray = file.with_name("stray.parquet")
    stray.write_bytes(file.read_bytes())
    with Warehouse.open_lake(place) as lake:
        found = lake.sql("SELECT count(*) AS n FROM events").to_pylist()
    stray.unlink()
    assert found == farm.sql("SELECT count(*) AS n FROM events").to_arrow_table().to_pylist()
