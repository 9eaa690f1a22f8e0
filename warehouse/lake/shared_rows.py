"""Rows that dumps share, written unless the writer knows that the lake has them."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import closing

import duckdb
import pyarrow as pa

from warehouse.engine.connection import registered
from warehouse.lake.commits import AddedFile
from warehouse.lake.ids import LakeIds
from warehouse.lake.place import Lake
from warehouse.lake.schemas import SHARED_TABLES, TABLES
from warehouse.lake.tables import writing_table

_BATCH_ROWS = {"tensors": 1 << 7}
_OTHER_BATCH_ROWS = 1 << 17
_WITH_LAKE_IDS = {"devices", "builds", "models"}


def write_shared_rows(
    connection: duckdb.DuckDBPyConnection,
    lake: Lake,
    id_: str,
    lake_ids: LakeIds,
    known: Mapping[str, pa.Table],
) -> list[AddedFile]:
    """Write the rows with unknown keys into a file named `id_` per table.

    Raises:
        LakeError: The lake cannot be written.
    """
    added = []
    for table in SHARED_TABLES:
        # Closed immediately if the lake cannot be written: the registered rows need the connection.
        with closing(_new_rows(connection, table, lake_ids, known.get(table))) as batches:
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
    connection: duckdb.DuckDBPyConnection, table: str, lake_ids: LakeIds, known: pa.Table | None
) -> Generator[pa.Table]:
    schema = TABLES[table]
    columns = ", ".join(schema.names)
    text = f"SELECT {columns} FROM {table}"  # noqa: S608
    if table in _WITH_LAKE_IDS:
        own = lake_ids.translate(connection.sql(text).to_arrow_table(), schema)
        with registered(connection, "own_rows", own):
            yield from _unknown(connection, f"SELECT {columns} FROM own_rows", table, known)  # noqa: S608
    else:
        yield from _unknown(connection, text, table, known)


def _unknown(
    connection: duckdb.DuckDBPyConnection, text: str, table: str, known: pa.Table | None
) -> Iterator[pa.Table]:
    """The rows of a SELECT whose keys are unknown."""
    schema = TABLES[table]
    if known is None:
        yield from _stream(connection, text, table)
        return
    same = " AND ".join(f"k.{key} IS NOT DISTINCT FROM t.{key}" for key in SHARED_TABLES[table])
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
