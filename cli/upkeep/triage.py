"""The tasks of people who look into alerts: decisions about groups, and notes on points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from tracehouse.cli.upkeep.task import TRIAGE, UPKEEP, TaskStore
from tracehouse.warehouse.errors import QueryError
from tracehouse.warehouse.point import Point

if TYPE_CHECKING:
    import pyarrow as pa

MOST_CHARACTERS = 500  # a note has no more
# Fields of points, by the names that queries and addresses have for them.
POINT = {{"event_name": "event"}.get(name, name): name for name in Point._fields}


@dataclass(frozen=True, kw_only=True)
class Accept:
    """Record a decision about groups of alerts: accepted, acknowledged or reopened."""

    name: ClassVar = "accept"
    scopes: ClassVar[tuple[str, ...]] = (TRIAGE, UPKEEP)
    reason: str
    groups: tuple[str, ...] = ()
    state: str = "accepted"
    model: tuple[str, ...] = ()
    device: tuple[str, ...] = ()
    since: str | None = None
    head: str | None = None

    def __post_init__(self) -> None:
        from tracehouse.ingest.schemas.upkeep import DECISION_STATES

        if not self.reason.strip():
            raise QueryError("wanted a reason, found none")
        if not (self.groups or self.model or self.device or self.since):
            raise QueryError("wanted groups, or the model, the device or the build (since) of some")
        if self.state not in DECISION_STATES:
            wanted = ", ".join(DECISION_STATES)
            raise QueryError(f"state: found '{self.state}', wanted one of: {wanted}")

    def run(self, store: TaskStore) -> pa.Table:
        """The groups that were decided, each with its new state."""
        import pyarrow as pa

        from tracehouse.queries.report.night import list_builds
        from tracehouse.queries.report.nightly import (
            GroupFilter,
            choose_groups,
            last_night,
            read_night,
        )
        from tracehouse.queries.report.settings import read_settings

        warehouse, settings = store.warehouse, read_settings(store.config)
        chosen = GroupFilter(self.model, self.device, self.since)
        known = set(warehouse.sql("SELECT group_id FROM group_decisions")["group_id"].to_pylist())
        last = last_night(warehouse, settings, self.head)
        known |= {group.id for group in last.report.groups} if last else set()
        ids = list(dict.fromkeys(self.groups))
        # A night costs time, so it is judged only if a group is chosen by it or unknown.
        if last is None or chosen.is_given or not known.issuperset(ids):
            night = read_night(warehouse, settings, self.head)
            if not night.is_stored:
                warehouse.keep_night(night.packed())
            ids = choose_groups(night.report, list_builds(warehouse), self.groups, chosen, known)
        decide = partial(warehouse.decide, state=self.state, reason=self.reason, user=store.user)
        for group_id in ids:
            decide(group_id)
        rows = [{"group_id": group_id, "state": self.state} for group_id in ids]
        return pa.Table.from_pylist(rows)


@dataclass(frozen=True, kw_only=True)
class Note:
    """Write a note on points of series, or withdraw a note."""

    name: ClassVar = "note"
    scopes: ClassVar[tuple[str, ...]] = (TRIAGE, UPKEEP)
    text: str = ""
    on: Mapping[str, str] = field(default_factory=dict)
    withdraw: str | None = None

    def __post_init__(self) -> None:
        if self.withdraw is not None:
            if self.text or self.on:
                raise QueryError("withdraw: wanted the id of a note alone, found a text or points")
            return
        if not 0 < len(self.text.strip()) <= MOST_CHARACTERS:
            found = f"{len(self.text.strip()):,}, wanted 1 to {MOST_CHARACTERS}"
            raise QueryError(f"text: characters of the note: found {found}")
        if unknown := sorted(self.on.keys() - POINT):
            raise QueryError(f"on: found '{unknown[0]}', wanted one of: {', '.join(POINT)}")
        if blank := sorted(name for name, value in self.on.items() if not value.strip()):
            raise QueryError(f"on: {blank[0]} is empty: give a value, or leave it out")
        if not self.on.get("build"):
            raise QueryError("on: wanted the build of the points, found none")
        if not self.on.get("ordinal", "1").isdecimal():
            raise QueryError(f"on: ordinal: found '{self.on['ordinal']}', wanted a number")

    def run(self, store: TaskStore) -> pa.Table:
        """The note, as in the query `notes`; no row if it was withdrawn."""
        if self.withdraw is None:
            names = {POINT[name]: value for name, value in self.on.items() if value}
            number = {"ordinal": int(names["ordinal"])} if "ordinal" in names else {}
            on: dict[str, Any] = {**names, **number}
            note_id = store.warehouse.write_note(self.text.strip(), user=store.user, **on)
        else:
            note_id = self.withdraw
            store.warehouse.withdraw_note(note_id, user=store.user)
        return store.warehouse.sql("FROM point_notes WHERE note_id = $id", {"id": note_id})
