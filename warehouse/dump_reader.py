"""Files to decoded and summarised dumps: what an ingest does in threads."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ingest import DecodedBatch, decode_dumps
from ingest.errors import SourceError
from ingest.sources import Source, read_source
from warehouse.rollups import Statistics, summarise


class ReadFile(NamedTuple):
    """A file that was read.

    Attributes:
        data: Its bytes.
        sha256: Their SHA-256; None if they could not be read.
        problem: Why they could not.
    """

    data: Any
    sha256: str | None
    problem: str = ""


class Content(NamedTuple):
    """Content of dumps, by position among them."""

    decoded: DecodedBatch
    statistics: Statistics


def read_files(sources: Sequence[Source]) -> list[ReadFile]:
    """Read and hash files."""
    files = []
    for source in sources:
        try:
            data = read_source(source)
            files.append(ReadFile(data, hashlib.sha256(data).hexdigest()))
        except SourceError as error:
            files.append(ReadFile(b"", None, error.problem))
    return files


def decode_content(buffers: Sequence[Any]) -> Content:
    """Decode and summarise dumps."""
    decoded = decode_dumps(buffers)
    return Content(decoded, summarise(decoded, len(buffers)))


def merge_contents(contents: Sequence[Content]) -> Content:
    """Contents as if their dumps had been decoded in one call; signatures may come twice."""
    if not contents:
        return decode_content(())
    decoded, statistics = zip(*contents, strict=True)
    first = np.cumsum([0, *(len(one.resolution) for one in statistics)], dtype=np.int32)
    tables = {
        name: _stack([one.tables[name] for one in decoded], first) for name in decoded[0].tables
    }
    errors = _stack([one.errors for one in decoded], first)
    rows = _stack([one.rows for one in statistics], first)
    resolution = np.concatenate([one.resolution for one in statistics])
    return Content(DecodedBatch(tables, errors), Statistics(rows, resolution))


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
