"""A lake's tables: their ids, their Parquet files, and the views that show them to DuckDB."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tracehouse.ingest.schemas.attributes import dimension_columns
from tracehouse.ingest.signatures import dimension_id
from tracehouse.warehouse.catalogue.dialect import duckdb_text
from tracehouse.warehouse.catalogue.sql_files import read_sql_files
from tracehouse.warehouse.engine.build_order import read_build_order
from tracehouse.warehouse.engine.connection import register_temporarily
from tracehouse.warehouse.engine.tables import SQL_TYPES, quote
from tracehouse.warehouse.lake.commits import AddedFile, LakeState
from tracehouse.warehouse.lake.layout import FACTS, SHARED_TABLES, TABLES, LakePart, table_of
from tracehouse.warehouse.lake.place import Lake

_ROW_GROUP_ROWS = 1 << 20
_ROWS_IN_MEMORY = {"events": 1 << 20, "tensors": 1 << 7}
_OTHER_ROWS_IN_MEMORY = 1 << 17
_DELTAS = {"events": ("run_index", "start_offset_ticks", "duration_ticks")}
_LEVEL = 1  # zstd's level; higher ones cost much time and save little space

# Columns that identify a device, build or model.
DIMENSION_KEYS: dict[str, tuple[str, ...]] = {
    "device": dimension_columns("device"),
    "build": ("name",),
    "model": dimension_columns("model"),
}
_LARGEST = 2**63 - 1

Ints = NDArray[np.int64]


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


def make_tables(connection: duckdb.DuckDBPyConnection, lake: Lake, state: LakeState) -> None:
    """Create all tables of a lake as temporary views."""
    for table in [*FACTS, *SHARED_TABLES]:
        show_files(connection, lake, table, [file.path for file in state.of(table)])
    for table in SHARED_TABLES:
        columns = ", ".join(
            f"CAST({field.name} AS {SQL_TYPES[field.type]}) AS {field.name}"
            for field in TABLES[table]
        )
        text = f"SELECT {columns} FROM ({duckdb_text(shared_select(table))})"  # noqa: S608
        connection.execute(f"CREATE TEMP VIEW {table} AS {text}")


def make_order(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the table build_order of a lake, whose writers do not know each other's builds."""
    with register_temporarily(connection, "ordered", read_build_order(connection)):
        connection.execute("CREATE TEMP TABLE build_order AS SELECT * FROM ordered")


def show_files(
    connection: duckdb.DuckDBPyConnection, lake: Lake, table: str, paths: Sequence[str]
) -> None:
    """Create a table's view, named `unmerged_name`, over these files."""
    shown = unmerged_name(table)
    source = _source(connection, lake, table, paths)
    columns = ", ".join(TABLES[table].names)
    text = f"SELECT {columns} FROM {source}"  # noqa: S608
    connection.execute(f"CREATE OR REPLACE TEMP VIEW {shown} AS {text}")


def unmerged_name(table: str) -> str:
    """Name of the view with a table's rows as written, including duplicates of several writers."""
    return f"lake_{table}" if table in SHARED_TABLES else table


@cache
def shared_select(table: str) -> str:
    """The SELECT that merges duplicate rows of several writers in a shared table; portable."""
    columns = ", ".join(TABLES[table].names)
    plain = f"SELECT DISTINCT {columns} FROM {unmerged_name(table)}"  # noqa: S608
    if table in ("devices", "models"):  # without those of forgotten dumps
        key = TABLES[table].names[0]
        plain += f" WHERE {key} IN (SELECT {key} FROM dumps)"  # noqa: S608
    return read_sql_files("lake").get(table, plain)


def register_files(
    connection: duckdb.DuckDBPyConnection, lake: Lake, table: str, paths: Sequence[str]
) -> str:
    """Register files of a table, read by Arrow, with DuckDB; the name to select from."""
    name = f"files_of_{table}"
    connection.register(name, open_files(lake, table, paths))
    return name


def _source(
    connection: duckdb.DuckDBPyConnection, lake: Lake, table: str, paths: Sequence[str]
) -> str:
    """The text after FROM; DuckDB itself reads local files, which is faster than Arrow."""
    if not (lake.is_local and paths):
        return register_files(connection, lake, table, paths)
    files = ", ".join(quote(lake.absolute(path)) for path in paths)
    return f"read_parquet([{files}], hive_partitioning = false)"


def dump_number(sha256: str) -> int:
    """The dump's id: the first 8 bytes of its SHA-256, the top bit cleared.

    >>> dump_number("ff" * 32) == 2**63 - 1
    True
    """
    return int(sha256[:16], 16) & _LARGEST


class LakeIds:
    """A lake's ids by the store's ids, for each column; absent columns have equal ids in both."""

    def __init__(self) -> None:
        self._ids: dict[str, tuple[Ints, Ints]] = {}

    @classmethod
    def of(cls, connection: duckdb.DuckDBPyConnection) -> LakeIds:
        """The ids of the dumps, devices, builds and models of a store."""
        ids = cls()
        for kind, columns in DIMENSION_KEYS.items():
            text = f"SELECT {kind}_id, {', '.join(columns)} FROM {kind}s"  # noqa: S608
            rows = connection.execute(text).fetchall()
            ids.set(f"{kind}_id", {row[0]: dimension_id(kind, row[1:]) for row in rows})
        rows = connection.execute("SELECT dump_id, sha256 FROM dumps").fetchall()
        ids.set("dump_id", {id_: dump_number(sha256) for id_, sha256 in rows})
        return ids

    def set(self, column: str, ids: Mapping[int, int]) -> None:
        """Add a column: the lake's ids by the store's."""
        own = np.array(sorted(ids), np.int64)
        assert len(set(ids.values())) == len(ids), "ids are unique"
        self._ids[column] = own, np.array([ids[one] for one in own.tolist()], np.int64)

    def translate(self, rows: pa.Table, schema: pa.Schema) -> pa.Table:
        """Rows of a store with the lake's ids and types."""
        columns = []
        for field in schema:
            column = rows[field.name]
            if field.name in self._ids:
                own, shared = self._ids[field.name]
                found = np.searchsorted(own, values := column.to_numpy())
                assert (own[found] == values).all(), "every row has an id of this lake"
                columns.append(pa.array(shared[found], pa.int64()))
            else:
                columns.append(pc.cast(column, field.type) if column.type != field.type else column)
        return pa.Table.from_arrays(columns, schema=schema)


class DumpLocation(NamedTuple):
    """A dump of a lake, and the part that contains it."""

    dump_id: int
    sha256: str
    part: LakePart


def locate_dumps(lake: Lake, state: LakeState) -> list[DumpLocation]:
    """Every dump of a lake, in order of parts; a dump in two parts occurs twice.

    Raises:
        LakeError: A file cannot be read.
    """
    return [
        DumpLocation(dump_id, sha256, part)
        for file in state.of("dumps")
        if (part := LakePart.of(file.path))
        for dump_id, sha256 in read_columns(lake, file.path, "dump_id", "sha256")
    ]


def find_repeated(dumps: Iterable[DumpLocation]) -> Iterator[DumpLocation]:
    """Dumps that two writers added at the same time, in all parts but the first."""
    seen: set[str] = set()
    for dump in dumps:
        if dump.sha256 in seen:
            yield dump
        seen.add(dump.sha256)
