"""Decisions about groups of alerts and notes on points, in the store and in its archive."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from tracehouse.ingest.schemas.attributes import compose
from tracehouse.ingest.schemas.upkeep import DECISION_STATES, GROUP_DECISIONS
from tracehouse.warehouse.archive.entries import DECIDED, Entry
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.engine.connection import insert_rows
from tracehouse.warehouse.errors import QueryError
from tracehouse.warehouse.point import Point
from tracehouse.warehouse.upkeep.recording import current_user, record_upkeep

_KEY = "(group_id, state, decided_at)"
_IS_NEW = f"WHERE {_KEY} NOT IN (SELECT {_KEY} FROM group_decisions)"  # noqa: S608

_SPELT = ("build", "device", "pool", "model", "backend")  # names from manifests
_FIND = f"SELECT {', '.join(Point._fields)} FROM point_notes WHERE note_id = ?"  # noqa: S608


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
    _record(connection, store, group_id, state, {"reason": reason, "decided_by": _named(user)})


def write_note(
    connection: duckdb.DuckDBPyConnection,
    store: Path,
    point: Point,
    text: str,
    *,
    user: str | None = None,
) -> str:
    """Record a user's note on points, by default of this process's user; returns the note's id.

    Raises:
        QueryError: The store has no dump with these points.
        StoreError: The store cannot be written.
    """
    point = _spell(point)
    if not connection.execute(read_statement("noted_dumps"), point._asdict()).fetchone():
        names = ", ".join(f"{name} '{value}'" for name, value in point._asdict().items() if value)
        raise QueryError(f"no dump has {names}: see 'tracehouse query coverage'")
    facts = {"reason": text, "decided_by": _named(user), **point._asdict()}
    note_id = sha256(f"{datetime.now(UTC)} {facts}".encode()).hexdigest()[:12]
    _record(connection, store, note_id, "noted", facts)
    return note_id


def withdraw_note(
    connection: duckdb.DuckDBPyConnection, store: Path, note_id: str, *, user: str | None = None
) -> None:
    """Record that a user withdraws a note, which no query shows from then on.

    Raises:
        QueryError: The store has no such note.
        StoreError: The store cannot be written.
    """
    found = connection.execute(_FIND, [note_id]).fetchone()
    if not found:
        raise QueryError(f"no note '{note_id}': see 'tracehouse query notes'")
    facts = {"reason": "", "decided_by": _named(user), **Point(*found)._asdict()}
    _record(connection, store, note_id, "withdrawn", facts)


def _named(user: str | None) -> str:
    return user or current_user()


def _spell(point: Point) -> Point:
    """The point with names as the store spells them."""
    given: dict[str, Any] = {name: value for name in _SPELT if (value := getattr(point, name))}
    given.update((name, compose(value)) for name, value in given.items())
    return point._replace(**given)


def _record(
    connection: duckdb.DuckDBPyConnection,
    store: Path,
    name: str,
    state: str,
    facts: Mapping[str, object],
) -> None:
    entry = Entry(DECIDED, datetime.now(UTC), name, reason=state, detail=json.dumps(facts))
    with record_upkeep(connection, store) as history:
        history.add([entry])
        store_decisions(connection, [entry])


def store_decisions(connection: duckdb.DuckDBPyConnection, entries: Sequence[Entry]) -> None:
    """Insert the decisions in entries that the store does not have yet."""
    rows = pa.Table.from_pylist([decision_row(entry) for entry in entries], GROUP_DECISIONS)
    insert_rows(connection, "group_decisions", rows, _IS_NEW)


def decision_row(entry: Entry) -> dict[str, object]:
    """The row of group_decisions that follows from an entry."""
    facts = {"group_id": entry.name, "state": entry.reason, "decided_at": entry.recorded_at}
    return {**facts, **json.loads(str(entry.detail))}
