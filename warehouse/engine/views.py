"""The views that ad-hoc SQL and canned queries read, created from sql/views."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain

import duckdb

from warehouse.catalogue.dialect import duckdb_text
from warehouse.catalogue.header import Header, parse_header
from warehouse.catalogue.queries import list_views, read_view
from warehouse.engine.tables import quote

_FROM_TABLE = r"(\bfrom|\bjoin|,)\s+(main\.)?{}\b"


@cache
def view_text(name: str) -> str:
    """Text of a view for DuckDB."""
    return duckdb_text(read_view(name))


def load_views() -> dict[str, str]:
    """Text for DuckDB of every view by name, in an order in which they can be created."""
    return {name: view_text(name) for name in list_views()}


def views_digest() -> str:
    """A hash that differs between versions of the views."""
    text = "\n".join(name + text for name, text in load_views().items())
    return hashlib.sha256(text.encode()).hexdigest()


def named_views(text: str) -> list[str]:
    """Names of all views that a statement can read, in an order in which they can be created.

    These are the views whose names occur in the text, and the views that these read.
    """
    texts, found = text.lower(), []
    for name in reversed(list_views()):  # a view reads only earlier views
        if name in texts:
            found.append(name)
            texts += view_text(name)
    return found[::-1]


def reads_table(text: str, table: str) -> bool:
    """Whether a statement reads a table, directly or through a view."""
    pattern = re.compile(_FROM_TABLE.format(table), re.IGNORECASE)
    texts = (text, *(view_text(name) for name in named_views(text)))
    return any(pattern.search(one) for one in texts)


def make_temporary_views(connection: duckdb.DuckDBPyConnection, names: Iterable[str]) -> None:
    """Create these views as temporary ones, whatever views the store has."""
    # DDL accepts no parameters; names and texts are our own.
    for name in names:
        connection.execute(f"CREATE TEMP VIEW {name} AS {view_text(name)}")


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
