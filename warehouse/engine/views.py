"""Creates the views that ad-hoc SQL and canned queries read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain

import duckdb

from tracehouse.ingest.schemas.dumps import STORED
from tracehouse.warehouse.catalogue.dialect import duckdb_text
from tracehouse.warehouse.catalogue.header import Header, parse_header
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.catalogue.views import load_views, view_text
from tracehouse.warehouse.engine.connection import DATABASE
from tracehouse.warehouse.engine.tables import VIEW_ROWS, quote

_DUMPS = "{0} IN (SELECT {0} FROM temp.dumps)"
# Which rows are shown: of a table that is not here, those of the shown dumps or ETRecords, if it
# has their ids, else none. A view reads the views before it.
_SHOWN: Mapping[str, str] = {
    "devices": "pool IN ({pools})",
    "dumps": "device_id IN (SELECT device_id FROM temp.devices)",
    "builds": _DUMPS.format("build_id"),
    "models": _DUMPS.format("model_id"),
    "ingest_errors": "get_json_object(manifest, '$.device.pool') IN ({pools})",
    "event_stats": _DUMPS.format("dump_id"),
    "run_signatures": "run_signature_id IN (SELECT run_signature_id FROM temp.event_stats)",
    "event_signatures": "event_signature_id IN (SELECT event_signature_id FROM temp.event_stats)",
    "debug_values": _DUMPS.format("dump_id"),
    "tensors": "sha256 IN (SELECT sha256 FROM temp.debug_values)",
    # A note and its withdrawal have one id, and only the note has a place.
    "group_decisions": (
        "group_id IN (SELECT group_id FROM {table} WHERE state = 'noted'"
        " AND (pool IN ({pools}) OR device IN (SELECT name FROM temp.devices)))"
    ),
    "judged_nights": "build IN (SELECT name FROM temp.builds)",
    "archive_segments": "TRUE",  # their number is part of the store's version
}


def make_temporary_views(
    connection: duckdb.DuckDBPyConnection, names: Iterable[str], kept: Mapping[str, str]
) -> None:
    """Create these views as temporary ones, whatever views the store has.

    `kept` has the texts of some that show rows which the store keeps.
    """
    # DDL accepts no parameters; names and texts are our own.
    for name in names:
        connection.execute(f"CREATE TEMP VIEW {name} AS {kept.get(name) or view_text(name)}")


def store_views(connection: duckdb.DuckDBPyConnection) -> None:
    """Write the views into the store, with comments, for users who open it with other tools."""
    views = load_views().items()
    connection.execute(
        "\n;\n".join(f"CREATE OR REPLACE VIEW {name} AS {text}" for name, text in views)
    )
    comment_views(connection)


def comment_views(connection: duckdb.DuckDBPyConnection) -> None:
    """Write the documentation of each view and column as comments."""
    headers = (parse_header(text, f"{name}.sql") for name, text in load_views().items())
    connection.execute(";\n".join(chain.from_iterable(map(_comments, headers))))


def _comments(header: Header) -> Iterator[str]:
    yield f"COMMENT ON VIEW {header.name} IS {quote(header.purpose)}"
    for column in header.columns:
        yield f"COMMENT ON COLUMN {header.name}.{column.name} IS {quote(column.doc)}"


def show_pools(connection: duckdb.DuckDBPyConnection, pools: Collection[str]) -> None:
    """Hide all of a store from a connection but what is of these device pools."""
    names = ", ".join(map(quote, sorted(pools))) or "NULL"
    for table in [*_SHOWN, *(STORED.keys() - _SHOWN), *VIEW_ROWS]:
        source = f"{DATABASE}.main.{table}"
        shown = _condition(table).format(pools=names, table=source)
        # DDL accepts no parameters; the names of pools are quoted.
        text = f"SELECT * FROM {source} WHERE {shown}"  # noqa: S608
        connection.execute(f"CREATE TEMP VIEW {table} AS {duckdb_text(text)}")
    connection.execute(f"CREATE OR REPLACE TEMP VIEW build_order AS {_show_order()}")


def _show_order() -> str:
    """The order of the shown builds: that of all, but with the times of the shown dumps."""
    times = read_statement("capture_times").replace("$builds", "NULL")
    return f"""
        SELECT
            o.build_id, CAST(row_number() OVER (ORDER BY o.position) AS INT) AS position,
            t.captured_at, coalesce(t.device_count, 0) AS device_count, t.first_captured_at,
            t.last_captured_at
        FROM {DATABASE}.main.build_order AS o
        JOIN temp.builds AS b ON b.build_id = o.build_id
        LEFT JOIN ({times}) AS t ON t.build_id = o.build_id
    """  # noqa: S608


def _condition(table: str) -> str:
    if table in _SHOWN:
        return _SHOWN[table]
    if table in VIEW_ROWS:
        return "FALSE"  # they follow from the dumps of all pools
    ids = [name for name in ("dump_id", "etrecord_id") if name in STORED[table].names]
    return _DUMPS.format(ids[0]) if ids else "FALSE"
