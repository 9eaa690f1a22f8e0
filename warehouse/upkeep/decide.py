"""Decisions about groups of alerts, in the store and in its archive."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pyarrow as pa

from ingest.schemas.decisions import DECISION_STATES, GROUP_DECISIONS
from warehouse.archive.entries import DECIDED, Entry
from warehouse.engine.connection import insert_rows
from warehouse.errors import QueryError
from warehouse.upkeep.recording import current_user, recorded_upkeep

_KEY = "(group_id, state, decided_at)"
_IS_NEW = f"WHERE {_KEY} NOT IN (SELECT {_KEY} FROM group_decisions)"  # noqa: S608


def decide_group(
    connection: duckdb.DuckDBPyConnection,
    store: Path,
    group_id: str,
    *,
    state: str,
    reason: str,
    user: str | None = None,
) -> None:
    """Record a user's decision about a group, by default the decision of this process's user.

    Raises:
        QueryError: The state does not exist.
        StoreError: The store cannot be written.
    """
    if state not in DECISION_STATES:
        raise QueryError(f"state: found '{state}', wanted one of: {', '.join(DECISION_STATES)}")
    detail = json.dumps({"reason": reason, "decided_by": user or current_user()})
    entry = Entry(DECIDED, datetime.now(UTC), group_id, reason=state, detail=detail)
    with recorded_upkeep(connection, store) as history:
        history.add([entry])
        store_decisions(connection, [entry])


def store_decisions(connection: duckdb.DuckDBPyConnection, entries: Sequence[Entry]) -> None:
    """Insert the decisions in entries that the store does not have yet."""
    rows = [
        {
            "group_id": entry.name,
            "state": entry.reason,
            "decided_at": entry.recorded_at,
            **json.loads(str(entry.detail)),
        }
        for entry in entries
    ]
    insert_rows(connection, "group_decisions", pa.Table.from_pylist(rows, GROUP_DECISIONS), _IS_NEW)
