from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, cast

import pyarrow as pa
import pytest

from tests.support.pair_rows import sides, values_table
from tracehouse import Warehouse
from tracehouse.warehouse.catalogue.queries import find_query
from tracehouse.warehouse.errors import ParameterError
from tracehouse.warehouse.regressions import judging
from tracehouse.warehouse.regressions.judging import compare_builds, judge_parts_here

PAIR = {"base": "b8", "head": "b9"}
TYPES = {"STRING": "string", "INT": "int32", "BIGINT": "int64", "DOUBLE": "double"}
NAMES = ["comparison", "regression_deltas"]


@pytest.mark.parametrize("name", NAMES)
def test_the_answer_has_the_documented_columns_and_order(nightly: Warehouse, name: str) -> None:
    table = nightly.query(name, **PAIR).table
    told = [(column.name, TYPES[column.type]) for column in find_query(name).header.columns]
    assert [(field.name, str(field.type)) for field in table.schema] == told
    order = [(field, "ascending") for field in told_order(table.column_names)]
    assert table.sort_by(order).equals(table)
    assert "regression" in table["verdict"].to_pylist()


def told_order(names: list[str]) -> list[str]:
    """The columns that rows are sorted by."""
    keys = ("level", "device", "pool", "model", "backend", "run", "event_name", "delegate_id")
    return [key for key in (*keys, "ordinal") if key in names]


def test_operators_are_the_rows_of_the_comparison_without_types_and_pools(
    pool_store: Warehouse,
) -> None:
    sides = {"base": "b7", "head": "b8"}
    every = pool_store.query("comparison", **sides).to_pylist()
    own = pool_store.query("regression_deltas", **sides)
    levels = ("method", "delegate", "operator")
    wanted = [
        {name: row[name] for name in own.column_names} for row in every if row["level"] in levels
    ]
    assert {row["level"] for row in every} == {"method", "operator"}
    assert sorted(own.to_pylist(), key=repr) == sorted(wanted, key=repr)


def test_values_that_wait_on_disk_have_the_answer_of_the_whole(
    pool_store: Warehouse, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(judging.tempfile, "tempdir", str(tmp_path))
    sides = {"base": "b7", "head": "b8"}
    whole = pool_store.query("comparison", **sides).table
    for values in (1, 50):
        monkeypatch.setattr(judging, "VALUES_AT_ONCE", values)
        assert pool_store.query("comparison", **sides).table.equals(whole)
    assert list(tmp_path.glob("*/*.arrows")) == [], "values on disk are deleted"


class Batches(NamedTuple):
    """A store whose values come in small batches."""

    rows: pa.Table

    @contextmanager
    def stream_query(self, *_: object) -> Iterator[pa.RecordBatchReader]:
        batches = self.rows.to_batches(max_chunksize=3)
        yield pa.RecordBatchReader.from_batches(self.rows.schema, batches)

    def sql(self, *_: object) -> pa.Table:
        return pa.table({"n": [len(self.rows)]})


@pytest.mark.parametrize("most", [1, 10, 100])
def test_every_batch_is_of_one_part(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(judging, "VALUES_AT_ONCE", most)
    devices = [f"d{number}" for number in range(5)]
    rows = [row for device in devices for row in sides([1.0] * 4, [2.0] * 4, device=device)]
    store = cast("Warehouse", Batches(values_table(rows)))
    parts = judge_parts_here(store, find_query("comparison"), {}, lambda part: part)
    assert sum(len(part) for part in parts) == len(rows)
    found = [set(part["device"].to_pylist()) for part in parts]
    assert sorted(name for own in found for name in own) == devices
    assert (len(parts) > 1) == (most < len(rows))


def test_filters_choose_dumps_and_errors_name_the_query(nightly: Warehouse) -> None:
    devices = nightly.query("comparison", **PAIR, device="ph*")["device"].to_pylist()
    assert set(devices) == {"phone"}
    for given in ({"device": "x"}, {"run": "x"}, {"base": "b77"}, {"head": "b8"}, {"builds": "x"}):
        with pytest.raises(ParameterError, match=r"^query 'comparison'|comparison"):
            nightly.query("comparison", **(PAIR | given))


def test_reports_get_the_values_that_were_compared(nightly: Warehouse) -> None:
    rows = compare_builds(nightly, **PAIR).to_pylist()
    changed = [row for row in rows if row["verdict"] == "regression"]
    assert changed
    for row in changed:
        assert len(row["base_values"]) == row["base_count"]
        assert row["head_values"] == sorted(row["head_values"])
