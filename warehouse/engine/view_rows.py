"""Rows of views that a store keeps, so that no question works them out.

The name of a run follows from all dumps of its device and model. The writer keeps the names in
tables before each checkpoint, so every file and snapshot that another process reads has them.
Readers use them while they belong to the dumps that are there. After a kill, or with views of
another version, the views work them out.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import duckdb

from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.catalogue.views import digest_of_views, view_text
from tracehouse.warehouse.engine.aligned_operators import RUNS, VIEW, AlignedOperators, needed_views
from tracehouse.warehouse.engine.connection import open_cursor, register_temporarily, transaction
from tracehouse.warehouse.engine.views import make_temporary_views

if TYPE_CHECKING:
    import pyarrow as pa

SIGNATURES, EVENTS = "named_event_signatures", "program_events"
KEPT = (SIGNATURES, RUNS, EVENTS, VIEW)
_SHOW = "FROM rows_of_{}"
_KEEP_STATE = "INSERT INTO view_rows_state VALUES (?, ?, ?, ?, ?, ?)"
# What has no rows yet; the view's text reads it by the name of its table.
_NEW = {
    SIGNATURES: (
        "event_signatures",
        """SELECT * FROM main.event_signatures WHERE event_signature_id NOT IN (
            SELECT event_signature_id FROM rows_of_named_event_signatures
        )""",
    ),
    EVENTS: (
        "run_signatures",
        """SELECT * FROM main.run_signatures WHERE run_signature_id NOT IN (
            SELECT run_signature_id FROM rows_of_program_events
        )""",
    ),
}
# Of all dumps of the devices and models of new dumps, for these may be named anew.
_NAMED_ANEW = """WITH dumps AS ({}), runs AS (
    SELECT * FROM main.runs WHERE dump_id IN (SELECT dump_id FROM dumps)
), run_signatures AS (
    SELECT * FROM main.run_signatures
    WHERE run_signature_id IN (SELECT run_signature_id FROM runs)
) FROM ({})"""


class State(NamedTuple):
    """What names of runs and operators follow from: last ids, a hash of all, and of the views."""

    last_dump: int
    last_build: int
    last_device: int
    last_model: int
    content: str
    views: str


def load_texts() -> None:
    """Read what `find_kept_views` needs, for a process that cannot read files afterwards."""
    read_statement("view_rows_state")
    digest_of_views(KEPT)


def find_kept_views(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """The texts of views that show kept rows; none if the rows are not those of the store now."""
    if _read_state(connection) != find_state(connection):
        return {}
    return {view: _SHOW.format(view) for view in KEPT}


def checkpoint(connection: duckdb.DuckDBPyConnection) -> None:
    """Bring the kept rows up to date, and write all commits into the store's file."""
    with suppress(duckdb.OutOfMemoryException):  # then the views work their rows out
        _keep_view_rows(connection)
    connection.execute("CHECKPOINT")


def _keep_view_rows(connection: duckdb.DuckDBPyConnection) -> None:
    stored, now = _read_state(connection), find_state(connection)
    if stored == now:
        return
    if now.last_dump < 0 and not stored:  # a new store, whose views are empty
        connection.execute(_KEEP_STATE, now)
        return
    is_extended = stored is not None and stored == find_state(connection, stored)
    last = stored.last_dump if stored and is_extended else -1
    with transaction(connection):
        connection.execute("DELETE FROM view_rows_state")
        if not is_extended:
            for view in KEPT:
                connection.execute(f"DELETE FROM rows_of_{view}")  # noqa: S608
        _keep_names(connection, last)
        for view, (table, new) in _NEW.items():
            if connection.execute(f"{new} LIMIT 1").fetchall():
                text = f"WITH {table} AS ({new}) FROM ({view_text(view)})"
                connection.execute(f"INSERT INTO rows_of_{view} {text}")
    ran = read_statement("runs_aligned_anew").replace("$last", str(last))
    kept = {view: _SHOW.format(view) for view in (SIGNATURES, EVENTS)} | {RUNS: ran}
    aligned = _align_operators(connection, kept)
    with transaction(connection), register_temporarily(connection, "aligned", aligned):
        connection.execute(read_statement("keep_operators").replace("$last", str(last)))
        connection.execute(_KEEP_STATE, now)


def _align_operators(connection: duckdb.DuckDBPyConnection, kept: Mapping[str, str]) -> pa.Table:
    """The operators of the store, aligned by the kept names of runs."""
    with open_cursor(connection) as cursor:
        make_temporary_views(cursor, needed_views(kept), kept)
        AlignedOperators(cursor)
        return cursor.table(VIEW).to_arrow_table()


def _keep_names(connection: duckdb.DuckDBPyConnection, last: int) -> None:
    """Name the runs of all devices and models of dumps after the last one that was seen."""
    dumps = read_statement("dumps_named_anew").replace("$last", str(last))
    found = _NAMED_ANEW.format(dumps, view_text(RUNS))
    connection.execute(f"CREATE OR REPLACE TEMP TABLE found_names AS {found}")
    connection.execute(read_statement("keep_names"))


def _read_state(connection: duckdb.DuckDBPyConnection) -> State | None:
    found = connection.execute("SELECT * FROM view_rows_state").fetchall()
    return State(*found[0]) if len(found) == 1 else None


def find_state(connection: duckdb.DuckDBPyConnection, until: State | None = None) -> State:
    """The state of the store as it is, or of the part of it up to the last ids of another."""
    last = dict(zip(State._fields[:4], until or (None,) * 4, strict=False))
    (found,) = connection.execute(read_statement("view_rows_state"), last).fetchall()
    return State._make((*found, digest_of_views(KEPT)))
