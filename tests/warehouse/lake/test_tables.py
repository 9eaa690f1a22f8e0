from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from tracehouse.warehouse.lake.layout import TABLES
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.lake.tables import open_files, read_columns, write_table

AT = datetime(2026, 3, 1, tzinfo=UTC)
ROWS = pa.Table.from_pylist(
    [{"dump_id": id_, "dropped_at": AT} for id_ in (1, 2)], schema=TABLES["dropped_events"]
)


def test_a_file_has_the_rows_of_all_tables_and_none_is_written_without_rows(tmp_path: Path) -> None:
    lake, empty = Lake(tmp_path), ROWS.slice(0, 0)
    assert write_table(lake, "dropped_events/a.parquet", [empty, empty]) == []
    assert lake.list() == []
    (added,) = write_table(lake, "dropped_events/a.parquet", [empty, ROWS, ROWS])
    assert (added.rows, added.bytes) == (4, lake.list()[0].byte_count)
    assert [*read_columns(lake, added.path, "dump_id")] == [(1,), (2,), (1,), (2,)]
    assert open_files(lake, "dropped_events", [added.path]).count_rows() == 4
    assert open_files(lake, "dropped_events", []).to_table().schema == TABLES["dropped_events"]


def test_a_file_whose_rows_fail_is_not_there(tmp_path: Path) -> None:
    rows = (ROWS if number else [][number] for number in (1, 0))
    with pytest.raises(IndexError):
        write_table(Lake(tmp_path), "dropped_events/a.parquet", rows)
    assert Lake(tmp_path).list() == []
