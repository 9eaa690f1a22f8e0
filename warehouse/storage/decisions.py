"""Decisions about groups of alerts, as entries of the archive and as rows of the store."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

import duckdb
import pyarrow as pa

from ingest.schemas.decisions import GROUP_DECISIONS
from warehouse.archive.entries import DECIDED, Entry
from warehouse.engine.connection import insert_rows

STATES: Final = ("acknowledged", "accepted", "reopened")
_KEY = "(group_id, state, decided_at)"
_IS_NEW = f"WHERE {_KEY} NOT IN (SELECT {_KEY} FROM group_decisions)"  # noqa: S608


class Decision(NamedTuple):
    """One row of group_decisions."""

    group_id: str
    state: str
    reason: str
    decided_by: str
    decided_at: datetime


def decision_entry(decision: Decision) -> Entry:
    """A decision as the archive keeps it."""
    detail = json.dumps({"reason": decision.reason, "decided_by": decision.decided_by})
    return Entry(
        DECIDED, decision.decided_at, decision.group_id, reason=decision.state, detail=detail
    )


def store_decisions(connection: duckdb.DuckDBPyConnection, entries: Sequence[Entry]) -> None:
    """Put decisions into the store, but for those that it has."""
    rows = [_decision(entry)._asdict() for entry in entries]
    insert_rows(connection, "group_decisions", pa.Table.from_pylist(rows, GROUP_DECISIONS), _IS_NEW)


def _decision(entry: Entry) -> Decision:
    said = json.loads(str(entry.detail))
    return Decision(
        entry.name, str(entry.reason), said["reason"], said["decided_by"], entry.recorded_at
    )
