from __future__ import annotations

import io
import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tracehouse.queries.formats import (
    MEDIA_TYPES,
    Format,
    write_arrow,
    write_csv,
    write_document,
    write_encoded,
    write_json,
    write_parquet,
)
from tracehouse.queries.plain_values import FormatError

TABLE = pa.table({"name": ["=a\x1b", None], "n": [2**62 + 1, 0]})


def test_texts_go_to_any_text_sink() -> None:
    rows, document, cells = io.StringIO(), io.StringIO(), io.StringIO()
    write_json(TABLE, rows)
    assert json.loads(rows.getvalue()) == TABLE.to_pylist()
    write_document({"a": [1, None]}, document)
    assert document.getvalue() == '{"a": [1, null]}\n'
    write_csv(TABLE, cells, delimiter="\t", is_safe=True, is_escaped=True)
    assert cells.getvalue() == "name\tn\n'=a\\x1b\t4611686018427387905\n\t0\n"


def test_bytes_go_to_any_binary_sink() -> None:
    sink = io.BytesIO()
    write_arrow(TABLE, sink)
    assert pa.ipc.open_stream(sink.getvalue()).read_all() == TABLE
    sink = io.BytesIO()
    write_parquet(TABLE, sink)
    assert pq.read_table(io.BytesIO(sink.getvalue())) == TABLE


@pytest.mark.parametrize(
    ("form", "data"),
    [
        ("json", b'[\n{"name": "\xc3\xbc"}\n]\n'),
        ("csv", b"name\n\xc3\xbc\n"),
        ("tsv", b"name\n\xc3\xbc\n"),
    ],
)
def test_texts_are_utf_8_in_a_binary_sink_that_stays_open(form: Format, data: bytes) -> None:
    sink = io.BytesIO()
    write_encoded(pa.table({"name": ["\u00fc"]}), form, sink)
    assert sink.getvalue() == data


def test_a_table_that_json_cannot_hold_writes_nothing() -> None:
    sink = io.StringIO()
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(FormatError, match="two columns are called 'a'"):
        write_json(table, sink)
    assert sink.getvalue() == ""


@pytest.mark.parametrize("form", [form for form in Format if not form.is_for_people])
def test_rows_are_written_while_they_are_computed(form: Format) -> None:
    """To a sink without positions, as pipes are."""

    def compute() -> Iterator[pa.RecordBatch]:
        for _ in range(3):
            sizes.append(len(written))
            yield from TABLE.to_batches()

    sizes: list[int] = []
    written = bytearray()
    pipe: Any = SimpleNamespace(
        write=written.extend, flush=lambda: None, closed=False,
        readable=lambda: False, writable=lambda: True, seekable=lambda: False,
    )  # fmt: skip
    write_encoded(pa.RecordBatchReader.from_batches(TABLE.schema, compute()), form, pipe)
    if form.is_binary:
        assert sizes[0] < sizes[1] < sizes[2]
    sink = io.BytesIO()
    write_encoded(pa.concat_tables([TABLE] * 3), form, sink)
    assert bytes(written) == sink.getvalue()


@pytest.mark.parametrize("form", list(MEDIA_TYPES))
def test_an_empty_reader_is_written_like_an_empty_table(form: Format) -> None:
    table, sinks = TABLE.slice(2), (io.BytesIO(), io.BytesIO())
    write_encoded(table, form, sinks[0])
    write_encoded(pa.RecordBatchReader.from_batches(table.schema, []), form, sinks[1])
    assert sinks[0].getvalue() == sinks[1].getvalue()
