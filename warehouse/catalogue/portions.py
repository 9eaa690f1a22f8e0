"""Questions in portions: each about some devices or models, so that memory stays bounded.

A query whose header says `portions: device of event_stats` has rows that depend on the dumps of
their own device alone, and that are sorted by device first. So its answers about some devices at a
time, one after another, are its answer about all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil

import duckdb

from warehouse.catalogue.dialect import duckdb_text
from warehouse.catalogue.queries import Query, find_filters

# Of each table, in one portion: some 100 MB of memory.
MOST_ROWS = {
    "event_stats": 500_000,
    "events": 10_000_000,
    "run_totals": 2_000_000,
    "dumps": 100_000,
}


def split_question(
    connection: duckdb.DuckDBPyConnection,
    query: Query,
    values: Mapping[str, object],
    *,
    most_rows: Mapping[str, int] = MOST_ROWS,
) -> Iterator[Mapping[str, object]]:
    """Values of the parameters for each portion, in the order of the answer.

    Args:
        connection: A connection to the store.
        query: The query.
        values: Values from `resolve_parameters`.
        most_rows: Rows of each table in a portion; a single device may have more.
    """
    if not query.header.portions or values.get("group_by") is not None:
        yield values
        return
    column, *tables = query.header.portions
    times = max(_count(connection, table) / most_rows[table] for table in tables)
    if times <= 1:
        yield values
        return
    most_dumps = ceil(_count(connection, "dumps") / times)
    names: list[str] = []
    dumps = 0
    for name, count in _dumps_by(column, connection, values):
        if names and dumps + count > most_dumps:
            yield {**values, column: names}
            names, dumps = [], 0
        names.append(name)
        dumps += count
    yield {**values, column: names} if names else values


def _count(connection: duckdb.DuckDBPyConnection, table: str) -> int:
    ((count,),) = connection.table(table).count("*").fetchall()
    return int(count)


def _dumps_by(
    column: str, connection: duckdb.DuckDBPyConnection, values: Mapping[str, object]
) -> list[tuple[str, int]]:
    """How many of the chosen dumps each device or model has, by name."""
    filters = find_filters("chosen_dumps")
    given = {parameter.name: values.get(parameter.name) for parameter in filters.header.params}
    chosen = connection.sql(duckdb_text(filters.sql), params=given)
    return chosen.aggregate(f"{column}, count(*)", column).order(column).fetchall()
