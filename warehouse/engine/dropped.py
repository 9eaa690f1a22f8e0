"""Answers that miss raw events which were dropped say so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from warehouse.engine.views import reads_events

if TYPE_CHECKING:
    import pyarrow as pa

_COUNT = "SELECT count(*) FROM dropped_events"


def noted(answer: pa.Table, connection: duckdb.DuckDBPyConnection, text: str) -> pa.Table:
    """The answer to a statement; with a `note` in its metadata if it may miss events."""
    if not reads_events(text):
        return answer
    ((count,),) = connection.execute(_COUNT).fetchall()
    if not count:
        return answer
    note = (
        f"{count:,} of the store's dumps have no raw events any more ('tracehouse retention'); "
        "what is read from raw events lacks them"
    )
    return answer.replace_schema_metadata({"note": note})
