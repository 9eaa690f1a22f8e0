from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from ingest.schemas.dumps import STORED
from tests.support.stores import copy_new_store
from warehouse.loading.appending import ROW_GROUP, append_rows
from warehouse.store import Warehouse

FILLED = """
SELECT sum(count)::BIGINT AS n FROM pragma_storage_info('events')
WHERE column_name = 'dump_id' AND segment_type = 'INTEGER' GROUP BY row_group_id
ORDER BY row_group_id
"""


def events(count: int) -> pa.Table:
    """Rows of events, in chunks that are no row groups, whose `run_index` tells their order."""
    columns = {
        field.name: pa.array(np.zeros(count), field.type)
        for field in STORED["events"]
        if field.name != "run_index"
    }
    numbered = pa.array(np.arange(count), pa.int32())
    whole = pa.table(columns).append_column("run_index", numbered)
    step = ROW_GROUP // 3 * 2
    return pa.concat_tables(whole.slice(first, step) for first in range(0, max(count, 1), step))


@pytest.mark.parametrize("count", [0, 5, ROW_GROUP + 5, 2 * ROW_GROUP, 4 * ROW_GROUP + 5])
def test_rows_keep_their_order_and_fill_row_groups(tmp_path: Path, count: int) -> None:
    copy_new_store(tmp_path)
    with Warehouse.open(tmp_path) as warehouse:
        append_rows(warehouse.writing, "events", events(count))
        stored = warehouse.writing.sql(
            "SELECT run_index FROM events ORDER BY rowid"
        ).to_arrow_table()
        filled = warehouse.writing.execute(FILLED).fetchall()

    assert stored["run_index"].to_pylist() == list(range(count))
    whole, rest = divmod(count, ROW_GROUP)
    assert [n for (n,) in filled] == [ROW_GROUP] * whole + [rest] * bool(rest)
