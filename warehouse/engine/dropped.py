"""Answers that miss raw events which were dropped say so."""

from __future__ import annotations

import duckdb

from warehouse.engine.views import reads_events

_COUNT = "SELECT count(*) FROM dropped_events"


def find_note(connection: duckdb.DuckDBPyConnection, text: str) -> str:
    """What the answer to a statement may miss, in words; empty if it misses nothing."""
    if not reads_events(text):
        return ""
    ((count,),) = connection.execute(_COUNT).fetchall()
    if not count:
        return ""
    return (
        f"{count:,} of the store's dumps have no raw events any more ('tracehouse retention'); "
        "what is read from raw events lacks them"
    )
