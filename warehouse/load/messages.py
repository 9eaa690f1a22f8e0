"""Decoded dumps as named tables, the form in which a child process sends them."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tracehouse.ingest.decode import DecodedBatch
from tracehouse.ingest.dump import Bytes
from tracehouse.warehouse.children.messages import Tables
from tracehouse.warehouse.load.content import Content
from tracehouse.warehouse.statistics.rollups import Statistics

FILES = "files"  # a table of files whose bytes come with a request

_DECODED, _ERRORS, _STATISTICS, _RESOLUTION = "decoded/", "errors", "statistics/", "resolution"


def pack_files(files: Sequence[Bytes]) -> Tables:
    """The bytes of files that are not read from a disk, as a table; nothing without files."""
    if not files:
        return {}
    return {FILES: pa.table({"data": pa.chunked_array(map(_one_value, files), pa.large_binary())})}


def _one_value(data: Bytes) -> pa.Array:
    """An array with these bytes, which are not copied."""
    offsets = pa.py_buffer(struct.pack("<2q", 0, len(data)))
    return pa.Array.from_buffers(pa.large_binary(), 1, [None, offsets, pa.py_buffer(data)])


def pack_decoded(decoded: DecodedBatch) -> Tables:
    """All tables of decoded dumps by name."""
    tables = {_DECODED + name: table for name, table in decoded.tables.items()}
    return {**tables, _ERRORS: decoded.errors}


def unpack_decoded(tables: Tables) -> DecodedBatch:
    """The argument of `pack_decoded`."""
    return DecodedBatch(_tables_of(_DECODED, tables), tables[_ERRORS])


def pack_content(content: Content) -> Tables:
    """All tables of decoded dumps and of their statistics by name."""
    statistics = content.statistics
    tables = {_STATISTICS + name: table for name, table in statistics.tables.items()}
    steps = {str(clock): column for clock, column in enumerate(statistics.resolution.T)}
    resolution = pa.table(steps)
    return {**pack_decoded(content.decoded), **tables, _RESOLUTION: resolution}


def unpack_content(tables: Tables) -> Content:
    """The argument of `pack_content`."""
    steps = [column.to_numpy() for column in tables[_RESOLUTION].columns]
    resolution = np.stack(steps, axis=1)
    statistics = Statistics(_tables_of(_STATISTICS, tables), resolution)
    return Content(unpack_decoded(tables), statistics)


def _tables_of(prefix: str, tables: Tables) -> dict[str, pa.Table]:
    return {
        name.removeprefix(prefix): table
        for name, table in tables.items()
        if name.startswith(prefix)
    }
