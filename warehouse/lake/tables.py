"""Parquet files of a lake's tables, encoded so that engines read them fast."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from tracehouse.warehouse.lake.commits import AddedFile
from tracehouse.warehouse.lake.layout import table_of
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.lake.schemas import TABLES

_ROW_GROUP_ROWS = 1 << 20
_ROWS_IN_MEMORY = {"events": 1 << 20, "tensors": 1 << 7}
_OTHER_ROWS_IN_MEMORY = 1 << 17
_DELTAS = {"events": ("run_index", "start_offset_ticks", "duration_ticks")}
_LEVEL = 1  # of zstd; higher levels cost much time and save little space


def rows_in_memory(table: str) -> int:
    """The number of rows of a table that a writer holds at a time."""
    return _ROWS_IN_MEMORY.get(table, _OTHER_ROWS_IN_MEMORY)


def write_table(lake: Lake, path: str, rows: Iterable[pa.Table]) -> list[AddedFile]:
    """Write a file of the table in its path, which appears whole; no file if there are no rows.

    Each item of `rows` becomes row groups of its own.

    Raises:
        LakeError: The file cannot be written.
    """
    filled = filter(len, rows)
    first = next(filled, None)
    if first is None:
        return []
    table, n_rows = table_of(path), 0
    deltas = _DELTAS.get(table, ())
    options = {
        "compression": "zstd",
        "compression_level": _LEVEL,
        "use_dictionary": [name for name in TABLES[table].names if name not in deltas],
        "column_encoding": dict.fromkeys(deltas, "DELTA_BINARY_PACKED") or None,
    }
    with lake.writing(path) as stream:
        with pq.ParquetWriter(stream, TABLES[table], **options) as writer:
            for some in chain([first], filled):
                writer.write_table(some, row_group_size=_ROW_GROUP_ROWS)
                n_rows += some.num_rows
        return [AddedFile(path, n_rows, stream.tell())]


def write_select(
    connection: duckdb.DuckDBPyConnection, lake: Lake, path: str, text: str
) -> list[AddedFile]:
    """Write the rows of a SELECT like `write_table`.

    Raises:
        LakeError: The file cannot be written.
    """
    table = table_of(path)
    with connection.sql(text).to_arrow_reader(rows_in_memory(table)) as batches:
        rows = (pa.Table.from_batches([batch]).cast(TABLES[table]) for batch in batches)
        return write_table(lake, path, rows)


def open_files(lake: Lake, table: str, paths: Sequence[str]) -> ds.Dataset:
    """Files of a table as a dataset, which may be empty."""
    return ds.FileSystemDataset.from_paths(
        [lake.absolute(path) for path in paths],
        schema=TABLES[table],
        format=ds.ParquetFileFormat(),
        filesystem=lake.files,
    )


def read_columns(lake: Lake, path: str, *columns: str) -> Iterator[tuple[Any, ...]]:
    """The values of some columns in each row of a file.

    Raises:
        LakeError: The file cannot be read.
    """
    with lake.opened(path) as stream:
        rows = pq.read_table(stream, columns=list(columns))
    return zip(*(rows[name].to_pylist() for name in columns), strict=True)
