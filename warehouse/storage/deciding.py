"""What somebody decides about a group of alerts, put on record."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import duckdb

from warehouse.archive.archive import Archive
from warehouse.engine.connection import translated_errors
from warehouse.errors import QueryError
from warehouse.storage.decisions import STATES, Decision, decision_entry
from warehouse.storage.forgetting import current_user
from warehouse.storage.upkeep import record_upkeep


def decide_group(
    connection: duckdb.DuckDBPyConnection, store: Path, group_id: str, *, state: str, reason: str
) -> None:
    """Put on record, in the store and in its archive, what the user decides about a group.

    Raises:
        QueryError: There is no such state.
        StoreError: The store cannot be written.
    """
    if state not in STATES:
        raise QueryError(f"state: found '{state}', wanted one of: {', '.join(STATES)}")
    decision = Decision(group_id, state, reason, current_user(), datetime.now(UTC))
    with translated_errors(store):
        record_upkeep(connection, Archive(store), [decision_entry(decision)])
