"""Creates the views that ad-hoc SQL and canned queries read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

import duckdb

from tracehouse.warehouse.catalogue.header import Header, parse_header
from tracehouse.warehouse.catalogue.views import load_views, view_text
from tracehouse.warehouse.engine.tables import quote


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
