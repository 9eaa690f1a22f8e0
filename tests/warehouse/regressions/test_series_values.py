from __future__ import annotations

from itertools import groupby

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tests.support.fleet_rows import fleet_row, value_table
from tracehouse.warehouse.regressions.series_values import (
    decode_texts,
    encode_texts,
    gather_recordings,
    group_rows,
    name_rows,
    number_rows,
)

_ROWS = st.lists(st.tuples(st.sampled_from([None, "", "a", "b"]), st.integers(0, 3)), max_size=30)


def _table(rows: list[tuple[str | None, int]]) -> pa.Table:
    texts, numbers = zip(*rows, strict=True) if rows else ((), ())
    return pa.table({"text": pa.array(texts, pa.string()), "number": pa.array(numbers, pa.int64())})


@given(_ROWS, st.booleans())
def test_equal_rows_have_one_number(rows: list[tuple[str | None, int]], is_encoded: bool) -> None:
    table = encode_texts(_table(rows)) if is_encoded else _table(rows)
    number, first = group_rows(table)
    numbers = dict(zip(rows, number.tolist(), strict=True))
    assert [numbers[row] for row in rows] == number.tolist()
    assert sorted(numbers.values()) == [*range(len(numbers))]
    assert [rows.index(rows[place]) for place in first.tolist()] == first.tolist()
    assert number[first].tolist() == [*range(len(numbers))]


@given(_ROWS)
def test_numbers_are_in_order_and_nulls_come_last(rows: list[tuple[str | None, int]]) -> None:
    number, first = number_rows(encode_texts(_table(rows)))
    in_order = sorted(set(rows), key=lambda row: (row[0] is None, row[0] or "", row[1]))
    assert [rows[place] for place in first.tolist()] == in_order
    assert [in_order[each] for each in number.tolist()] == rows


def test_more_combinations_than_rows_are_numbered_alike() -> None:
    texts = [f"text {number % 997}" for number in range(2000)]
    table = pa.table(dict.fromkeys(("a", "b", "c", "d", "e", "f"), texts))
    number, first = group_rows(table)
    assert len(first) == 997
    assert np.array_equal(number[997:1994], number[:997])


def test_texts_survive_dictionary_encoding() -> None:
    table = _table([("a", 1), (None, 2), ("b", 3)])
    encoded = encode_texts(table)
    assert pa.types.is_dictionary(encoded.schema.field("text").type)
    assert decode_texts(encoded).equals(table)


def test_equal_rows_are_named_once() -> None:
    named: list[tuple[str | None, int]] = []

    def name(text: str | None, number: int) -> str:
        named.append((text, number))
        return f"{text} #{number}"

    table = _table([("a", 1), ("b", 1), ("a", 1)])
    assert name_rows(table, name) == ["a #1", "b #1", "a #1"]
    assert sorted(named, key=str) == [("a", 1), ("b", 1)]


def test_recordings_of_batches_with_other_dictionaries_are_those_of_all_rows() -> None:
    rows = [
        fleet_row(f"b{night}", 2 - night, [1.0 + night, 2.0], device=device, floor=1.0 + night)
        for device in ("zeta", "alpha")
        for night in (1, 0)
    ]
    whole = value_table(rows)
    batches = [encode_texts(whole.slice(place, 1)) for place in range(len(whole))]
    for table in (whole, pa.concat_tables(batches)):
        found = decode_texts(gather_recordings(table)).to_pylist()
        found.sort(key=lambda row: (row["device"], row["build"]))
        for one, own in zip(found, sorted(rows, key=_key), strict=True):
            assert {name: one[name] for name in own} == own
    assert len({key for key, _ in groupby(found, _key)}) == 4


def _key(row: dict[str, str]) -> tuple[str, str]:
    return row["device"], row["build"]
