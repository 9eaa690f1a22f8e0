"""numpy columns -> Arrow columns, in the types that every engine shares. Pure."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ingest.arena import Ints, Mask
from ingest.etdump import Texts
from ingest.schemas import DECODED, UINT64
from ingest.values import Longs


def build_table(name: str, *columns: object) -> pa.Table:
    """The decoded table of that name from its columns in order, arrays or lists."""
    schema = DECODED[name]
    arrays = [
        column
        if isinstance(column, pa.Array) and column.type == field.type
        else pa.array(column, field.type)
        for column, field in zip(columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def is_utf8(text: bytes) -> bool:
    """Whether the bytes decode."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def readable(text: bytes) -> str:
    """The text, bytes that are not UTF-8 as \\xNN."""
    return text.decode(errors="backslashreplace")


def readable_or_none(text: bytes | None) -> str | None:
    """The readable text, None for None."""
    return None if text is None else readable(text)


def strings(texts: Texts, rows: Ints | slice = slice(None), *, empty: bool = True) -> pa.Array:
    """A string column of the texts; with `empty` false, '' becomes null."""
    values = [v if empty or v else None for v in map(readable, texts.values)]
    codes = texts.codes[rows]
    indices = pa.array(codes.astype(np.int32), mask=codes < 0)
    return pa.DictionaryArray.from_arrays(indices, pa.array(values, pa.string())).cast(pa.string())


def nullable(values: NDArray[np.generic], valid: Mask) -> pa.Array:
    """The values, null where not valid."""
    return pa.array(values, mask=~valid)


def unsigned(values: NDArray[np.uint64], valid: Mask | None = None) -> pa.Array:
    """Unsigned 64-bit values, exactly, null where not valid."""
    return pa.array(values, mask=None if valid is None else ~valid).cast(UINT64)


def named(codes: NDArray[np.int32], names: tuple[str, ...], others: dict[int, str]) -> pa.Array:
    """Names of enumeration codes; a code without one is 'unknown(N)'."""
    distinct, member = np.unique(codes, return_inverse=True)
    texts = [
        names[code] if 0 <= code < len(names) else others.get(code, f"unknown({code})")
        for code in distinct.tolist()
    ]
    return pa.array(texts, pa.string()).take(pa.array(member))


def lists(longs: Longs) -> pa.Array:
    """A nullable column of lists."""
    ends = np.concatenate([[0], np.cumsum(longs.length)]).astype(np.int32)
    mask = pa.array(~longs.present)
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(longs.items), mask=mask)
