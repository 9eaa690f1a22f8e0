from __future__ import annotations

import random
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from tracehouse.ingest.schemas.dumps import DIGESTED, STORED
from tracehouse.warehouse.engine.digests import Digests

_ROWS = 9
_VALUES: dict[pa.DataType, list[Any]] = {
    pa.int32(): [0, 1, -1, 1 << 30],
    pa.int64(): [0, 1, -1, 1 << 62],
    pa.float64(): [0.0, -0.0, 1.5, float("inf")],
    pa.bool_(): [True, False],
    pa.string(): ["", "a", "b", "\u00e4" * 9],
    pa.binary(): [b"", b"\0", b"\0\0", b"ab"],
    pa.decimal128(20, 0): [Decimal(0), Decimal(1), Decimal(1 << 64)],
    pa.list_(pa.int64()): [[], [0], [1, 2], [2, 1]],
    pa.timestamp("us", "UTC"): [datetime(2026, 1, n, tzinfo=UTC) for n in (1, 2, 3)],
}


def make_rows(table: str, choice: random.Random) -> list[dict[str, Any]]:
    """Rows of three dumps, with nulls where the table may have them."""
    return [
        {field.name: choice.choice(values_of(field)) for field in STORED[table]}
        | {"dump_id": 1 + number // 3}
        for number in range(_ROWS)
    ]


def values_of(field: pa.Field) -> list[Any]:
    return [*_VALUES[field.type], *[None] * field.nullable]


def digest(table: str, rows: list[dict[str, Any]], *, parts: int = 1) -> dict[int, int]:
    digests, size = Digests(), -(-len(rows) // parts)
    for first in range(0, len(rows), size):
        digests.add(table, pa.Table.from_pylist(rows[first : first + size], STORED[table]))
    found = digests.table()
    assert found.column_names == ["dump_id", *DIGESTED]
    return dict(zip(found["dump_id"].to_pylist(), found[table].to_pylist(), strict=True))


@pytest.mark.parametrize(
    ("table", "field"),
    [(name, field) for name in DIGESTED for field in STORED[name] if field.name != "dump_id"],
    ids=lambda one: getattr(one, "name", one),
)
def test_any_other_value_in_any_column_changes_the_digest_of_its_dump(
    table: str, field: pa.Field
) -> None:
    rows = make_rows(table, random.Random(7))  # noqa: S311 - for a choice of values
    before = digest(table, rows)
    for value in values_of(field):
        wrong = [dict(row) for row in rows]
        if repr(wrong[4][field.name]) != repr(value):
            wrong[4][field.name] = value
            found = digest(table, wrong)
            assert {dump for dump in before if found[dump] != before[dump]} == {2}


@pytest.mark.parametrize("table", DIGESTED)
def test_neither_the_order_of_rows_nor_their_parts_change_a_digest(table: str) -> None:
    choice = random.Random(3)  # noqa: S311 - for a choice of values
    rows = make_rows(table, choice)
    before = digest(table, rows)
    assert digest(table, rows, parts=4) == before
    choice.shuffle(rows)
    assert digest(table, rows) == digest(table, rows, parts=3) == before


def test_rows_that_are_lost_repeated_or_exchange_values_change_the_digest() -> None:
    rows = make_rows("events", random.Random(5))  # noqa: S311 - for a choice of values
    rows[0]["duration_ticks"], rows[1]["duration_ticks"] = 5, 6
    before = digest("events", rows)
    exchanged = [{**rows[0], "duration_ticks": 6}, {**rows[1], "duration_ticks": 5}, *rows[2:]]
    columns = [{**rows[0], "start_offset_ticks": 5, "duration_ticks": 9}, *rows[1:]]
    turned = [{**rows[0], "start_offset_ticks": 9, "duration_ticks": 5}, *rows[1:]]
    assert digest("events", columns) != digest("events", turned)
    for wrong in (rows[1:], [rows[0], *rows], [rows[0]] * 3 + rows[1:], exchanged):
        assert digest("events", wrong)[1] != before[1]


def test_digests_are_the_same_in_every_release() -> None:
    rows = make_rows("debug_values", random.Random(1))  # noqa: S311 - for a choice of values
    assert digest("debug_values", rows) == {
        1: -3977322062211932253,
        2: 3559033336574093510,
        3: 3553005802518010898,
    }


def test_long_tables_are_added_in_blocks() -> None:
    rows = make_rows("run_totals", random.Random(1)) * 9_000  # noqa: S311 - for a choice of values
    whole = pa.Table.from_pylist(rows, STORED["run_totals"])
    digests, parts = Digests(), Digests()
    digests.add("run_totals", whole)
    for first in range(0, whole.num_rows, 10_000):
        parts.add("run_totals", whole.slice(first, 10_000))
    assert digests.table() == parts.table()


def test_dumps_without_rows_have_no_digest() -> None:
    assert Digests().table([3, 1]).select(["dump_id", "events"]).to_pylist() == [
        {"dump_id": 1, "events": None},
        {"dump_id": 3, "events": None},
    ]
