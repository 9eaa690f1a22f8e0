"""Notes that people wrote on points of series."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from pydantic import Field

from tracehouse.queries.report.figures import MAX_TEXT, name_text, operator_text, place_text
from tracehouse.queries.report.parts import Part
from tracehouse.warehouse.point import Point
from tracehouse.warehouse.queryable import Queryable

_NOTES = "FROM point_notes ORDER BY written_at, note_id"


class Note(Part):
    """A note on the points of a build with some names; a name that is null is any."""

    note_id: str = Field(description="A service opens the chart at /notes/NOTE_ID.")
    text: str
    written_by: str
    written_at: datetime
    build: str
    device: str | None
    pool: str | None
    model: str | None
    backend: str | None
    event_name: str | None
    delegate_id: str | None
    ordinal: int | None

    def is_on(self, series: Mapping[str, Any]) -> bool:
        """Whether the note is on a point of a series or a row, by the names that the series has."""
        own = {name: getattr(self, name) for name in Point._fields}
        return all(value in (None, series.get(name, value)) for name, value in own.items())

    @property
    def where(self) -> str:
        """The subject of the note, without the build."""
        parts = [self.model or "all models", self.backend]
        place = place_text(self.device, "", None, self.pool) if self.device or self.pool else ""
        names = [place or "all devices", *(name_text(part) for part in parts if part)]
        if self.event_name is not None:
            names.append(operator_text(self.event_name, self.delegate_id, self.ordinal or 0))
        return " · ".join(names)

    @property
    def signed_text(self) -> str:
        """The text with the author and the day."""
        text, user = name_text(self.text, MAX_TEXT), name_text(self.written_by)
        return f"{text} ({user}, {self.written_at:%Y-%m-%d})"

    @property
    def href(self) -> str:
        """The address of the note on a service."""
        return f"/notes/{self.note_id}"


def choose_notes(notes: Iterable[Note], series: Iterable[Mapping[str, Any]]) -> list[Note]:
    """The notes on a point of any of some series, or of any row."""
    listed = list(series)
    return [note for note in notes if any(map(note.is_on, listed))]


def read_notes(store: Queryable) -> list[Note]:
    """All notes of a store, the oldest first."""
    return [Note(**row) for row in store.sql(_NOTES).to_pylist()]
