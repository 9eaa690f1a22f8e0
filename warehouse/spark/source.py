"""`format("etdump")`: dumps of any place that Arrow can read, as rows of Spark.

Register it first: ``session.dataSource.register(EtdumpSource)``.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.datasource import ReadMaxFiles, SupportsTriggerAvailableNow

from tracehouse.ingest.batching import batches
from tracehouse.ingest.decode import decode_dumps
from tracehouse.ingest.dump import HashedFile
from tracehouse.ingest.errors import SourceError
from tracehouse.ingest.schemas.dumps import DECODED, ERRORS
from tracehouse.ingest.watching.places import WatchedFile
from tracehouse.warehouse.load.content import read_dumps
from tracehouse.warehouse.spark.arrivals import Arrivals
from tracehouse.warehouse.spark.inboxes import (
    ManifestDefaults,
    list_arrivals,
    list_files,
    local_dumps,
    open_place,
)

if TYPE_CHECKING:
    from pyspark.sql.streaming.datasource import ReadLimit
    from pyspark.sql.types import StructType

FILES = pa.schema(
    [("path", pa.string()), ("byte_count", pa.int64()), ("changed_at", pa.timestamp("us", "UTC"))]
)
_SOURCE = pa.field("source", pa.string())
_PIECE_BYTES, _PIECE_FILES = 32 << 20, 280  # bytes and files of one task
_MOST_FILES = "10000"


def source_schema(table: str) -> pa.Schema:
    """Columns of a table of the source: the decoder's, with the dump's name for its index.

    Raises:
        SourceError: The table does not exist.
    """
    known = {"files": FILES, "errors": ERRORS, **DECODED}
    if table not in known:
        raise SourceError(table, f"no table of etdump; the tables are {', '.join(sorted(known))}")
    columns = list(known[table])
    named = [_SOURCE if column.name == "dump_index" else column for column in columns]
    return pa.schema([column.remove_metadata() for column in named])


class EtdumpSource(DataSource):
    """Dumps below a path or URI.

    Options: `table`, a table of the decoder such as events, or errors for refused dumps, or files
    for the names alone; `most_files` in a batch of a stream.
    """

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._place = options.get("path", ".")
        self._table = options.get("table", "events")
        self._most_files = int(options.get("most_files", _MOST_FILES))

    @classmethod
    def name(cls) -> str:
        """The name for `format`."""
        return "etdump"

    def schema(self) -> StructType:
        """Columns of the table."""
        return from_arrow_schema(source_schema(self._table), prefer_timestamp_ntz=False)

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of all files."""
        return _BatchReader(self._place, self._table)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """A reader of files as they arrive."""
        return _StreamReader(self._place, self._table, self._most_files)


class _Files(InputPartition):
    """The files of one task."""

    def __init__(self, files: Sequence[WatchedFile]) -> None:
        super().__init__(None)
        self.files = files


class _BatchReader(DataSourceReader):
    def __init__(self, place: str, table: str) -> None:
        self._place, self._table = place, table

    def partitions(self) -> Sequence[InputPartition]:
        return _split(list_files(open_place(self._place)))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _read_files(self._place, self._table, partition)


class _StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, place: str, table: str, most_files: int) -> None:
        self._place, self._table, self._most_files = place, table, most_files
        self._arrivals = Arrivals(lambda: list_arrivals(open_place(place)))

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        return self._arrivals.first()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        return ReadMaxFiles(self._most_files)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        self._arrivals.close()

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        most = limit.max_files if isinstance(limit, ReadMaxFiles) else None
        return self._arrivals.advance(start, most)

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return _split(self._arrivals.between(start, end))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _read_files(self._place, self._table, partition)


def _split(files: Sequence[WatchedFile]) -> list[InputPartition]:
    return list(map(_Files, batches(files, attrgetter("size"), _PIECE_BYTES, _PIECE_FILES)))


def _read_files(place: str, table: str, partition: Any) -> Iterator[pa.RecordBatch]:
    schema = source_schema(table)
    files: Sequence[WatchedFile] = partition.files
    if table == "files":
        rows = [
            {"path": path, "byte_count": size, "changed_at": changed // 1_000}
            for path, size, changed, _ in files
        ]
        yield from pa.Table.from_pylist(rows, schema=schema).to_batches()
        return
    paths = [file.path for file in files]
    with local_dumps(open_place(place), paths, ManifestDefaults()) as local:
        dumps = (dump for _, _, dump in local.dumps)
        while some := list(islice(dumps, _PIECE_FILES)):
            yield from _decode(some, table, schema)


def _decode(some: Sequence[Any], table: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Rows of a table; a refused dump has a row in errors, and none elsewhere."""
    read = [(file.name, file.data) for file in read_dumps(some) if isinstance(file, HashedFile)]
    decoded = decode_dumps([data for _, data in read])
    rows = decoded.errors if table == "errors" else decoded.tables[table]
    if "dump_index" in rows.column_names:
        names = pa.array([name for name, _ in read], pa.string())
        at = rows.column_names.index("dump_index")
        rows = rows.set_column(at, _SOURCE, names.take(rows["dump_index"].combine_chunks()))
    yield from rows.cast(schema).to_batches()
