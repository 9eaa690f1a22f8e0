"""numpy columns -> Arrow columns, in the types that all engines share. Pure.

Arrays are passed as buffers, because `pa.array`, `take` and `cast` import numpy.ma and
pyarrow.compute, which takes a fifth of the start-up of `tracehouse inspect`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracehouse.ingest.etdump.arena import Ints, Mask
from tracehouse.ingest.etdump.columns import Texts
from tracehouse.ingest.etdump.values import Int64Lists
from tracehouse.ingest.schemas.dumps import DECODED, UINT64

EMPTY = {name: schema.empty_table() for name, schema in DECODED.items()}
"""Every decoded table without rows."""

_FEW = 1000  # rows that are decoded without pyarrow.compute
_TYPES = {name: schema.types for name, schema in DECODED.items()}
_ARROW_TYPES = {
    np.dtype(numpy_type): pa.from_numpy_dtype(numpy_type)
    for numpy_type in (np.int32, np.int64, np.float64)
}


def build_table(name: str, *columns: object) -> pa.Table:
    """A decoded table from its columns in order, which are arrays or lists."""
    arrays = [_column(*pair) for pair in zip(columns, _TYPES[name], strict=True)]
    return pa.Table.from_arrays(arrays, schema=DECODED[name])


def _column(values: object, type_: pa.DataType) -> pa.Array:
    if isinstance(values, np.ndarray):
        return plain(values)
    return values if isinstance(values, pa.Array) else pa.array(values, type_)


def plain(values: NDArray[Any], valid: Mask | None = None) -> pa.Array:
    """The values (int32, int64, float64 or bool), null if not valid."""
    bits = None if valid is None else _bits(valid)
    if values.dtype == np.bool_:
        return pa.Array.from_buffers(pa.bool_(), len(values), [bits, _bits(values)])
    data = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(_ARROW_TYPES[values.dtype], len(values), [bits, data])


def texts(codes: Ints, values: list[str | None]) -> pa.Array:
    """A string column: values by code, null for negative codes."""
    if len(codes) <= _FEW:
        return pa.array([values[c] if c >= 0 else None for c in codes.tolist()], pa.string())
    indices = plain(codes.astype(np.int32), codes >= 0)
    dictionary = pa.array(values, pa.string())
    return pa.DictionaryArray.from_arrays(indices, dictionary).dictionary_decode()


def is_utf8(text: bytes) -> bool:
    """Whether the bytes are UTF-8."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def readable(text: bytes) -> str:
    """The text, with bytes that are not UTF-8 as \\xNN."""
    return text.decode(errors="backslashreplace")


def readable_or_none(text: bytes | None) -> str | None:
    """The readable text, None for None."""
    return None if text is None else readable(text)


def strings(column: Texts, rows: Ints | slice = slice(None), *, empty: bool = True) -> pa.Array:
    """A string column of the texts; with `empty` false, '' becomes null."""
    values = [v if empty or v else None for v in map(readable, column.values)]
    return texts(column.codes[rows], values)


def unsigned(values: NDArray[np.uint64], valid: Mask | None = None) -> pa.Array:
    """Exact unsigned 64-bit values, null if not valid."""
    words = np.zeros((len(values), 2), np.uint64)  # of 128-bit decimals, the low word first
    words[:, 0] = values
    bits = None if valid is None else _bits(valid)
    return pa.Array.from_buffers(UINT64, len(values), [bits, pa.py_buffer(words)])


def named(
    codes: NDArray[np.int32], names: tuple[str, ...], others: dict[int, str | None]
) -> pa.Array:
    """Names of enumeration codes; a code without one is 'unknown(N)'."""
    distinct, member = np.unique(codes, return_inverse=True)
    found = [
        names[code] if 0 <= code < len(names) else others.get(code, f"unknown({code})")
        for code in distinct.tolist()
    ]
    return texts(member, found)


def lists(longs: Int64Lists) -> pa.Array:
    """A nullable column of lists."""
    ends = np.concatenate([[0], np.cumsum(longs.length)]).astype(np.int32)
    buffers = [_bits(longs.present), pa.py_buffer(ends)]
    items = plain(longs.items)
    return pa.Array.from_buffers(
        pa.list_(pa.int64()), len(longs.present), buffers, children=[items]
    )


def _bits(mask: Mask) -> pa.Buffer:
    return pa.py_buffer(np.packbits(mask, bitorder="little"))


def renumber_dumps(rows: pa.Table, numbers: NDArray[np.int32]) -> pa.Table:
    """The rows with ``dump_index`` i replaced by ``numbers[i]``; other tables are unchanged.

    `dump_index` is the first column of every decoded table that has it.
    """
    if rows.schema.names[0] != "dump_index":
        return rows
    chunks = [pa.array(numbers[chunk.to_numpy()]) for chunk in rows.column(0).chunks]
    column = pa.chunked_array(chunks, pa.int32())
    return rows.set_column(0, rows.schema.field(0), column)
