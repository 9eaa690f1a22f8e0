from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from tracehouse.warehouse.lake.layout import LakePart, Partition, escape, name_part

NAMES = ["mv2", "a b/c=d%e", "007", "größe", "x" * 150, "n'\"\n:*?"]


@pytest.mark.parametrize("name", NAMES)
def test_engines_read_a_partition_as_it_was_named(name: str, tmp_path: Path) -> None:
    part = LakePart(Partition("2026-01-01", name), "abc")
    path = tmp_path / part.path("events")
    path.parent.mkdir(parents=True)
    pq.write_table(pa.table({"x": [1]}), path)
    keys = pa.schema([("date", pa.string()), ("model", pa.string())])
    read = ds.dataset(tmp_path / "events", partitioning=ds.partitioning(keys, flavor="hive"))
    assert read.to_table()["model"].to_pylist() == [name]
    types = "{'date': VARCHAR, 'model': VARCHAR}"
    text = f"SELECT model FROM read_parquet(?, hive_partitioning=true, hive_types={types})"  # noqa: S608
    found = duckdb.execute(text, [f"{tmp_path}/events/**/*.parquet"]).fetchall()
    assert found == [(name,)]
    assert LakePart.of(part.path("events")) == part


def test_a_very_long_name_is_cut_and_stays_unique() -> None:
    one, other = escape("m" * 1000), escape("m" * 1001)
    assert one != other
    assert len(one) < 255
    assert len(escape("\n" * 1000)) < 255


def test_a_file_shared_by_dumps_belongs_to_no_lake_part() -> None:
    assert LakePart.of("devices/20260101-abc.parquet") is None


def test_a_part_is_named_by_its_states_in_whatever_order_and_never_by_a_name_taken() -> None:
    assert name_part(["a", "b"]) == name_part(["b", "a"]) != name_part(["a", "c"])
    second = name_part(["a", "b"], {name_part(["a", "b"])})
    assert second != name_part(["a", "b"])
