from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from tests.support.stores import copy_new_store
from tracehouse.warehouse.engine.memory_limit import (
    LongValues,
    find_long_values,
    stored_long_values,
)
from tracehouse.warehouse.engine.store_file import FILE_NAME
from tracehouse.warehouse.store import Store

LONG = 4097


def test_values_are_long_that_duckdb_keeps_apart() -> None:
    text = pa.table({"a": ["a" * (LONG - 1), None, "a" * LONG], "b": [1, 2, 3]})
    raw = pa.table({"a": [b"a" * (LONG + 1)]})

    assert find_long_values([text, raw]) == LongValues(2 * LONG + 1, LONG + 1)
    assert find_long_values([text.slice(0, 2), pa.table({})]) == LongValues()


def test_long_values_of_a_vector_count_twice_in_memory() -> None:
    many = LongValues(1 << 30, 1 << 16) + LongValues(1 << 30, 1 << 10)
    few = LongValues(1 << 20, 1 << 16)

    assert many.held_bytes == 2 * 2048 * (1 << 16)
    assert few.held_bytes == 2 << 20


def test_a_store_reports_its_longest_value(tmp_path: Path) -> None:
    copy_new_store(tmp_path)
    file = tmp_path / FILE_NAME
    insert = "INSERT INTO tensors SELECT $1, octet_length($2), $2"
    with Store.open_to_write(tmp_path) as warehouse:
        writing = warehouse.writing
        writing.execute(insert, ["short", b"a" * (LONG - 1)])
        assert stored_long_values(writing, file) == LongValues()

        writing.execute(insert, ["long", b"a" * 100_000])
        found = stored_long_values(writing, file)
        assert found.longest_bytes == 100_000
        assert found.total_bytes >= 100_000
    with Store.open_to_write(tmp_path) as warehouse:
        assert stored_long_values(warehouse.writing, file).longest_bytes == 100_000
