"""Points of series: build x device x model x operator."""

from __future__ import annotations

from typing import NamedTuple


class Point(NamedTuple):
    """The points that a note is on: those of a build with these names; None is any."""

    build: str
    device: str | None = None
    pool: str | None = None
    model: str | None = None
    backend: str | None = None
    event_name: str | None = None
    delegate_id: str | None = None
    ordinal: int | None = None
