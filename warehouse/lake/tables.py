"""Parquet files of a lake's tables, encoded so that engines read them fast."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq

from warehouse.lake.commits import AddedFile
from warehouse.lake.layout import table_of
from warehouse.lake.place import Lake
from warehouse.lake.schemas import TABLES

ROW_GROUP_ROWS = 1 << 20
_DELTAS = {"events": ("run_index", "start_offset_ticks", "duration_ticks")}
_LEVEL = 1  # of zstd; higher levels cost much time and save little space


class TableFile:
    """A file being written, see `writing_table`.

    Attributes:
        added: The file's entry for a commit, complete once the file is written.
    """

    def __init__(self, path: str, writer: pq.ParquetWriter) -> None:
        self.added = AddedFile(path, 0, 0)
        self._writer = writer

    def write(self, rows: pa.Table) -> None:
        """Append rows as separate row groups."""
        self._writer.write_table(rows, row_group_size=ROW_GROUP_ROWS)
        self.added = self.added._replace(rows=self.added.rows + rows.num_rows)


@contextmanager
def writing_table(lake: Lake, path: str) -> Iterator[TableFile]:
    """A file of the table in its path; the file appears when the body succeeds.

    Raises:
        LakeError: The file cannot be written.
    """
    table = table_of(path)
    deltas = _DELTAS.get(table, ())
    with lake.writing(path) as stream:
        writer = pq.ParquetWriter(
            stream,
            TABLES[table],
            compression="zstd",
            compression_level=_LEVEL,
            use_dictionary=[name for name in TABLES[table].names if name not in deltas],
            column_encoding=dict.fromkeys(deltas, "DELTA_BINARY_PACKED") or None,
        )
        file = TableFile(path, writer)
        yield file
        writer.close()
        file.added = file.added._replace(bytes=stream.tell())
