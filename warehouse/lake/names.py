"""Rows that dumps share: each is written once, as far as its writer knows."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import closing

import duckdb
import pyarrow as pa

from warehouse.engine.connection import registered
from warehouse.lake.commits import AddedFile
from warehouse.lake.ids import Numbers
from warehouse.lake.place import Lake
from warehouse.lake.schemas import NAMES, TABLES
from warehouse.lake.tables import writing_table

_BATCH_ROWS = {"tensors": 1 << 7}
_OTHER_BATCH_ROWS = 1 << 17
_NUMBERED = {"devices", "builds", "models"}


def write_names(
    connection: duckdb.DuckDBPyConnection,
    lake: Lake,
    id_: str,
    numbers: Numbers,
    known: Mapping[str, pa.Table],
) -> list[AddedFile]:
    """Write the rows that are not known; the name of each table's file is `id_`.

    Raises:
        LakeError: The lake cannot be written.
    """
    added = []
    for table in NAMES:
        # Closed at once if the lake cannot be written: what they registered needs the connection.
        with closing(_new_rows(connection, table, numbers, known.get(table))) as batches:
            first = next(batches, None)
            if first is None:
                continue
            with writing_table(lake, f"{table}/{id_}.parquet") as file:
                file.write(first)
                for rows in batches:
                    file.write(rows)
        added.append(file.added)
    return added


def _new_rows(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    numbers: Numbers,
    known: pa.Table | None,
) -> Generator[pa.Table]:
    schema = TABLES[table]
    columns = ", ".join(schema.names)
    text = f"SELECT {columns} FROM {table}"  # noqa: S608
    if table in _NUMBERED:  # which have other ids in the lake
        own = numbers.widened(connection.sql(text).to_arrow_table(), schema)
        with registered(connection, "own_rows", own):
            yield from _unknown(connection, f"SELECT {columns} FROM own_rows", table, known)  # noqa: S608
    else:
        yield from _unknown(connection, text, table, known)


def _unknown(
    connection: duckdb.DuckDBPyConnection, text: str, table: str, known: pa.Table | None
) -> Iterator[pa.Table]:
    """The rows of a SELECT whose keys are not known."""
    schema = TABLES[table]
    if known is None:
        yield from _stream(connection, text, table)
        return
    same = " AND ".join(f"k.{key} IS NOT DISTINCT FROM t.{key}" for key in NAMES[table])
    with registered(connection, "known_keys", known):
        columns = ", ".join(f"t.{name}" for name in schema.names)
        text = f"SELECT {columns} FROM ({text}) AS t ANTI JOIN known_keys AS k ON {same}"  # noqa: S608
        yield from _stream(connection, text, table)


def _stream(connection: duckdb.DuckDBPyConnection, text: str, table: str) -> Iterator[pa.Table]:
    size = _BATCH_ROWS.get(table, _OTHER_BATCH_ROWS)
    with connection.sql(text).to_arrow_reader(size) as batches:
        for batch in batches:
            if batch.num_rows:
                yield pa.Table.from_batches([batch]).cast(TABLES[table])
