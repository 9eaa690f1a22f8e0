"""Files to dumps: read and hashed at once; decoded and summarised if they are wanted.

Imports neither DuckDB nor pydantic, for a process of its own does this work, which shall start
fast (`warehouse.reader_process`).
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ingest import DecodedBatch, decode_dumps
from ingest.errors import SourceError
from ingest.sources import Source, read_source
from warehouse.rollups import Statistics, summarise

STREAM_BYTES = 64 << 20  # from this size on a dump is decoded in parts


class ReadFile(NamedTuple):
    """A file that was read.

    Attributes:
        sha256: SHA-256 of its bytes; None if they could not be read.
        problem: Why they could not.
    """

    sha256: str | None
    problem: str = ""


class ReadFiles(NamedTuple):
    """Files that were read, and how many bytes they have together."""

    files: list[ReadFile]
    byte_count: int


class ReadContent(NamedTuple):
    """Content of dumps, by position among those wanted."""

    decoded: DecodedBatch
    statistics: Statistics


class DumpReader:
    """Reads batches of files, and decodes them in the same order."""

    def __init__(self) -> None:
        """Nothing is read yet."""
        self._waiting: deque[list[Any]] = deque()

    def read(self, sources: Sequence[Source]) -> ReadFiles:
        """Read a batch and keep its bytes until it is decoded."""
        files: list[ReadFile] = []
        buffers: list[Any] = []
        for source in sources:
            try:
                data = read_source(source)
                files.append(ReadFile(hashlib.sha256(data).hexdigest()))
                buffers.append(data)
            except SourceError as error:
                files.append(ReadFile(None, error.problem))
                buffers.append(b"")
        self._waiting.append(buffers)
        return ReadFiles(files, sum(map(len, buffers)))

    def decode(self, wanted: Sequence[int]) -> ReadContent | None:
        """Decode dumps of the earliest batch that was read and not decoded.

        Args:
            wanted: Positions among its files; the others are forgotten.

        Returns:
            Their content; None if they are too big to be decoded at once.
        """
        waiting = self._waiting.popleft()
        buffers = [waiting[i] for i in wanted]
        if sum(map(len, buffers)) >= STREAM_BYTES:
            return None
        decoded = decode_dumps(buffers)
        return ReadContent(decoded, summarise(decoded, len(buffers)))


def merge_contents(contents: Sequence[ReadContent]) -> ReadContent:
    """Contents as if their dumps had been decoded in one call; signatures may come twice."""
    if not contents:
        nothing = decode_dumps(())
        return ReadContent(nothing, summarise(nothing, 0))
    decoded, statistics = zip(*contents, strict=True)
    first = np.cumsum([0, *(len(one.resolution) for one in statistics)], dtype=np.int32)
    tables = {
        name: _stack([one.tables[name] for one in decoded], first) for name in decoded[0].tables
    }
    errors = _stack([one.errors for one in decoded], first)
    rows = _stack([one.rows for one in statistics], first)
    resolution = np.concatenate([one.resolution for one in statistics])
    return ReadContent(DecodedBatch(tables, errors), Statistics(rows, resolution))


def _stack(tables: Sequence[pa.Table], first: NDArray[np.int32]) -> pa.Table:
    """Rows of tables; `first` is the number of the first dump of each."""
    stacked = []
    for table, number in zip(tables, first, strict=False):
        if number and "dump_index" in table.column_names:
            chunks = [pa.array(chunk.to_numpy() + number) for chunk in table["dump_index"].chunks]
            column = pa.chunked_array(chunks, pa.int32())
            table = table.set_column(0, table.schema.field(0), column)
        stacked.append(table)
    return pa.concat_tables(stacked)
