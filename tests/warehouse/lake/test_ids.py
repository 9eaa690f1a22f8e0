from __future__ import annotations

import pyarrow as pa

from tracehouse.ingest.signatures import dimension_id
from tracehouse.warehouse.lake.layout import TABLES
from tracehouse.warehouse.lake.tables import LakeIds, dump_number


def test_ids_never_change() -> None:
    assert dump_number("80000000000000ff" + "0" * 48) == 0xFF
    assert dimension_id("model", ("mv2", "xnnpack", None)) == 2371851327712530229
    assert dimension_id("build", ("b1",)) == 3376924813355887138


def test_different_dimension_values_have_different_ids() -> None:
    things = [("a", None), ("a", ""), ("", "a"), (None, "a"), ("a", "a")]
    ids = {dimension_id(kind, thing) for thing in things for kind in ("device", "model")}
    assert len(ids) == 2 * len(things)


def test_an_attribute_of_a_later_version_changes_an_id_only_where_it_is_stated() -> None:
    model = ("mv2", None, None)
    assert dimension_id("model", (*model, None)) == dimension_id("model", model)
    assert len({dimension_id("model", (*model, *more)) for more in ((), ("a",), (None, "a"))}) == 3


def test_rows_get_the_ids_of_the_lake_and_keep_the_rest() -> None:
    ids = LakeIds()
    ids.set("dump_id", {7: 70, 3: 30})
    rows = pa.table({"dump_id": pa.array([3, 7, 3], pa.int32()), "dropped_at": [None] * 3})
    found = ids.translate(rows, TABLES["dropped_events"])
    assert found["dump_id"].to_pylist() == [30, 70, 30]
    assert found["dropped_at"].to_pylist() == [None] * 3
