"""Digests of the rows of dumps: for each dump and table a number of 64 bits.

A digest is a sum over hashes of the rows, so their order does not matter. It differs if one value
is wrong, and almost certainly if several are, or if rows are missing or repeated. It does not
depend on the version of DuckDB or on the id of the dump.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from functools import cache
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracehouse.ingest.schemas.dumps import DIGESTED, STORED

_BLOCK = 1 << 16  # rows whose hashes stay in the processor's cache
_NULL = 0xD1B54A32D192ED03  # stands for a null

_WIDTHS: dict[int, Any] = {8: np.uint64, 4: np.uint32}  # by size in bytes

_Words = NDArray[Any]


class _Sums(NamedTuple):
    """Sums over the hashes of the rows of dumps in a part of a table."""

    dumps: NDArray[np.int64]
    sums: _Words


class Digests:
    """Digests of dumps, whose rows are added in any order and in any number of parts."""

    def __init__(self) -> None:
        self._sums: dict[str, list[_Sums]] = {name: [] for name in DIGESTED}
        self._hashes = _Hashes()

    def clear(self) -> None:
        """Forget all rows; the memory for hashes stays."""
        for sums in self._sums.values():
            sums.clear()

    def add(self, table: str, rows: pa.Table) -> None:
        """Add rows of a table; they have all columns of the table."""
        parts = [rows] if rows.num_rows <= _BLOCK else rows.to_batches(max_chunksize=_BLOCK)
        self._sums[table] += (self._sum(table, part) for part in parts if part.num_rows)

    def table(self, dumps: Collection[int] = ()) -> pa.Table:
        """`dump_id` and a digest of each table, null without rows; one row per dump, in order.

        Dumps that are given have a row even if no row of theirs was added.
        """
        parts = [one.dumps for sums in self._sums.values() for one in sums]
        ids = np.unique(np.concatenate([np.fromiter(dumps, np.int64, len(dumps)), *parts]))
        columns = {name: _combine(ids, sums) for name, sums in self._sums.items()}
        return pa.table({"dump_id": pa.array(ids), **columns})

    def _sum(self, table: str, rows: pa.Table | pa.RecordBatch) -> _Sums:
        dump = rows["dump_id"].to_numpy()
        hashes = self._hashes.of(table, rows)
        starts = _starts(dump)
        if (np.diff(dump[starts]) < 0).any():
            order = np.argsort(dump, kind="stable")
            dump, hashes = dump[order], hashes[order]
            starts = _starts(dump)
        return _Sums(dump[starts].astype(np.int64), np.add.reduceat(hashes, starts))


def _starts(dump: NDArray[np.integer]) -> NDArray[np.intp]:
    """Positions where another dump begins."""
    return np.concatenate([[0], np.flatnonzero(dump[1:] != dump[:-1]) + 1])


class _Hashes:
    """Hashes rows in memory that is used again and again.

    Columns of at most 32 bits are first added up modulo 2^32, which takes half the time.
    """

    def __init__(self) -> None:
        self._buffers = [np.empty(_BLOCK, width) for width in [*_WIDTHS.values()] * 2]

    def of(self, table: str, rows: pa.Table | pa.RecordBatch) -> _Words:
        """A hash of each row, without its dump."""
        hashes, narrow, product, short = (one[: rows.num_rows] for one in self._buffers)
        sums, products = {8: hashes, 4: narrow}, {8: product, 4: short}
        hashes[:], narrow[:] = _factor(table), 0
        for name in STORED[table].names[1:]:
            for number, words in enumerate(_words_of(rows[name])):
                size = words.itemsize
                np.multiply(words, _factor(name, number, size), out=products[size])
                sums[size] += products[size]
        hashes.view("<u4")[1::2] += narrow  # the upper half of each hash
        hashes ^= np.right_shift(hashes, np.uint64(32), out=product)
        return hashes


def _words_of(column: pa.ChunkedArray | pa.Array) -> Iterator[_Words]:
    """The values of a column as unsigned numbers of 32 or 64 bits, one or two for each value."""
    if not column.null_count:
        yield from _raw_words(column)
        return
    is_null = column.is_null().to_numpy(zero_copy_only=False)
    for words in _raw_words(column):
        yield np.where(is_null, np.array(_NULL).astype(words.dtype), words)


def _raw_words(column: pa.ChunkedArray | pa.Array) -> Iterator[_Words]:
    """The same, with any words for nulls."""
    kind = column.type
    if pa.types.is_list(kind):
        yield np.fromiter((crc32(repr(one).encode()) for one in column.to_pylist()), np.uint64)
    elif pa.types.is_string(kind) or pa.types.is_binary(kind):
        yield _hash_texts(_whole(column))
    elif pa.types.is_boolean(kind):
        yield column.cast(pa.uint8()).fill_null(0).to_numpy().astype(np.uint32)
    else:
        width, whole = kind.bit_width // 8, _whole(column)
        step = max(width // 8, 1)
        count, data = len(whole) * step, whole.buffers()[1]
        words = np.frombuffer(data, f"u{width // step}", count, whole.offset * width)
        for number in range(step):
            yield words[number::step]


def _whole(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    if not isinstance(column, pa.ChunkedArray):
        return column
    found = column.combine_chunks()
    return found if isinstance(found, pa.Array) else pa.concat_arrays(found.chunks)


def _hash_texts(column: pa.Array) -> _Words:
    """A hash of each text or blob."""
    encoded = column.dictionary_encode()
    texts = encoded.dictionary.cast(pa.binary()).to_pylist()
    hashes = np.append(np.fromiter(map(crc32, texts), np.uint64, len(texts)), np.uint64(0))
    sizes = np.append(np.fromiter(map(len, texts), np.uint64, len(texts)), np.uint64(0))
    hashes |= sizes << np.uint64(32)
    found: _Words = hashes[encoded.indices.fill_null(0).to_numpy()]
    return found


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


@cache
def _factor(name: str, number: int = 0, size: int = 8) -> Any:
    """An odd number for each column, so that columns with swapped values make a difference."""
    return np.uint64(_hash(f"{name} {number}") | 1).astype(_WIDTHS[size])


def _combine(ids: NDArray[np.int64], parts: list[_Sums]) -> pa.Array:
    """The digest of each dump over the parts of a table; null without rows."""
    if not parts:
        return pa.nulls(len(ids), pa.int64())
    digests, is_missing = np.zeros(len(ids), np.uint64), np.ones(len(ids), bool)
    for part in parts:
        place = np.searchsorted(ids, part.dumps)
        digests[place] += part.sums
        is_missing[place] = False
    return pa.array(digests.view(np.int64), mask=is_missing)
