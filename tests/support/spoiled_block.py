"""Blocks of a store's DuckDB file that hold bitpacked values which DuckDB cannot read back."""

from __future__ import annotations

import struct
from pathlib import Path

import duckdb

from tests.support.stores import ingest, write
from tests.support.tiny_dumps import tiny_dump
from tracehouse.warehouse.engine.connection import open_reader, use_database
from tracehouse.warehouse.engine.store_checks import seal_file
from tracehouse.warehouse.engine.store_file import FILE_NAME, HEADERS_BYTES

CAUSE = "unknown bitpacking mode"

_BLOCK_BYTES = 256 << 10
_WORD = struct.Struct("<Q")
_GROUP = struct.Struct("<I")  # offset of a group's values, and their mode in the highest byte
_NO_MODE = 99 << 24
_SEED, _FACTOR, _BITS = 5381, 0xBF58476D1CE4E5B9, (1 << 64) - 1
_SEGMENT = """
SELECT block_id, block_offset FROM pragma_storage_info($table)
WHERE column_name = $column AND compression = 'BitPacking'
"""

OLD_COUNT = 12  # dumps, so that DuckDB packs the values of some columns


def make_packed_store(folder: Path) -> Path:
    """A store of so many dumps, which DuckDB has written with bitpacking."""
    dumps = [write(folder / f"{number}.etdp", tiny_dump(number)) for number in range(OLD_COUNT)]
    ingest(folder / "store", *dumps)
    return folder / "store"


def spoil_segment(store: Path, table: str, column: str) -> None:
    """Spoil the first values of a column of a closed store.

    The block gets the right checksum, as a faulty DuckDB would write it, and the file its seal.
    """
    file = store / FILE_NAME
    with open_reader(file) as connection:
        use_database(connection)
        names = {"table": table, "column": column}
        ((block, offset), *_) = connection.execute(_SEGMENT, names).fetchall()
    data = bytearray(file.read_bytes())
    start = HEADERS_BYTES + block * _BLOCK_BYTES
    segment = start + _WORD.size + offset
    (groups,) = _WORD.unpack_from(data, segment)
    first = segment + groups - _GROUP.size
    (group,) = _GROUP.unpack_from(data, first)
    _GROUP.pack_into(data, first, group & 0xFFFFFF | _NO_MODE)
    _WORD.pack_into(data, start, _checksum(data[start + _WORD.size : start + _BLOCK_BYTES]))
    file.write_bytes(data)
    with open(file, "rb") as source:
        seal_file(file, source.fileno())


def compressions(store: Path, table: str) -> set[str]:
    """How the segments of a table are compressed."""
    with open_reader(store / FILE_NAME) as connection:
        use_database(connection)
        return _compressions(connection, table)


def _compressions(connection: duckdb.DuckDBPyConnection, table: str) -> set[str]:
    text = "SELECT compression FROM pragma_storage_info($table)"
    return {name for (name,) in connection.execute(text, {"table": table}).fetchall()}


def _checksum(block: bytes) -> int:
    """DuckDB's checksum of a block."""
    total = _SEED
    for (word,) in _WORD.iter_unpack(block):
        total ^= word * _FACTOR & _BITS
    return total
