from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.support.lakes import (
    dump_ids,
    files_of,
    fill,
    rows_of,
    rows_only_farm,
    shared_numbers,
    write_dumps,
)
from tracehouse.warehouse.lake import tables, writing
from tracehouse.warehouse.lake.layout import FACTS, PLANS, SHARED_TABLES, TABLES, WIDE_IDS, LakePart
from tracehouse.warehouse.lake.place import Lake


@pytest.fixture(scope="module")
def farm():
    """A farm; only for reading."""
    return rows_only_farm()


@pytest.fixture(scope="module")
def filled(farm, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of the whole farm; only for reading."""
    place = tmp_path_factory.mktemp("filled")
    fill(place, farm)
    return place


def stored(farm, table):
    columns = ", ".join(name for name in TABLES[table].names if name not in WIDE_IDS[1:])
    rows = farm.sql(f"SELECT {columns} FROM {table}").to_arrow_table().to_pylist()  # noqa: S608
    numbers = shared_numbers(farm)
    for row in rows:
        if "dump_id" in row:
            row["dump_id"] = numbers[row["dump_id"]]
    return rows


def narrow(rows):
    return [{name: row[name] for name in row if name not in WIDE_IDS[1:]} for row in rows]


def test_lake_has_the_rows_of_the_store(farm, filled: Path) -> None:
    for table in (*FACTS, *SHARED_TABLES):
        found = sorted(map(repr, narrow(rows_of(filled, table))))
        assert found == sorted(map(repr, stored(farm, table))), table


def test_ids_of_things_join_in_the_lake_as_in_the_store(farm, filled: Path) -> None:
    numbers = shared_numbers(farm)
    for kind in ("device", "build", "model"):
        names = {row[f"{kind}_id"]: row["name"] for row in rows_of(filled, f"{kind}s")}
        found = {row["dump_id"]: names[row[f"{kind}_id"]] for row in rows_of(filled, "dumps")}
        text = f"SELECT dump_id, name FROM dumps JOIN {kind}s USING ({kind}_id)"  # noqa: S608
        wanted = {numbers[id_]: name for id_, name in farm.sql(text).fetchall()}
        assert found == wanted


def test_rows_of_a_dump_keep_their_order_and_devices_stand_together(farm, filled: Path) -> None:
    events = rows_of(filled, "events")
    numbers = shared_numbers(farm)
    for dump_id, shared in list(numbers.items())[::7]:
        text = "SELECT * FROM events WHERE dump_id = ?"
        own = farm.sql(text, params=[dump_id]).to_arrow_table().drop(["dump_id"]).to_pylist()
        found = [row for row in events if row["dump_id"] == shared]
        assert [{name: row[name] for name in own[0]} for row in found] == own
    devices = [(row["device_id"], row["build_id"]) for row in rows_of(filled, "dumps")]
    assert (
        len(devices)
        > len(set(devices))
        == sum(one != other for one, other in zip(devices, [None, *devices], strict=False))
    )


@pytest.mark.slow
def test_parts_are_bounded_and_a_large_dump_is_one_of_its_own(
    farm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ((most,),) = farm.sql("SELECT max(n_events) FROM dumps").fetchall()
    monkeypatch.setattr(writing, "PART_EVENTS", 3 * most)
    monkeypatch.setattr(tables, "_ROWS_IN_MEMORY", {"events": most // 2})
    fill(tmp_path, farm)
    parts = [LakePart.of(file.path) for file in files_of(tmp_path, "dumps")]
    assert len(parts) >= len(dump_ids(farm)) // 3
    assert parts == [LakePart.of(file.path) for file in files_of(tmp_path, "events")]
    assert len(rows_of(tmp_path, "events")) == len(stored(farm, "events"))
    assert all(file.rows <= 3 * most for file in files_of(tmp_path, "events"))


def test_same_dumps_are_written_to_the_same_files_wherever(
    farm, filled: Path, tmp_path: Path
) -> None:
    fill(tmp_path, farm)
    paths = [[file.path for file in files_of(place, "events")] for place in (filled, tmp_path)]
    assert paths[0] == paths[1]


def test_files_are_those_of_the_schema_and_deltas_are_packed(filled: Path) -> None:
    for table in TABLES:
        for file in files_of(filled, table):
            found = pq.ParquetFile(filled / file.path)
            assert found.schema_arrow.equals(TABLES[table])
            assert found.metadata.num_rows == file.rows
            assert (filled / file.path).stat().st_size == file.bytes
            column = found.metadata.row_group(0).column(0)
            assert column.compression == "ZSTD"
    events = pq.ParquetFile(filled / files_of(filled, "events")[0].path).metadata.row_group(0)
    encodings = {events.column(i).path_in_schema: events.column(i).encodings for i in range(9)}
    assert "DELTA_BINARY_PACKED" in encodings["duration_ticks"]


def test_files_that_are_not_committed_yet_are_listed_in_a_plan(farm, tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    written = write_dumps(farm, lake, dump_ids(farm))
    assert files_of(tmp_path, "dumps") == []
    (plan,) = lake.list(PLANS)
    text = lake.read(plan.path).decode()
    assert all(file.path in text for file in written.added)
