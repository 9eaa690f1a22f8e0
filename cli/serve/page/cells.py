"""Cells of the page's tables, and the addresses and texts in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode

from tracehouse.queries.report.figures import NONE, count_text, place_text

METHOD = "Method::execute"
PLACE = ("device", "model", "backend")
Row = dict[str, Any]
_LONGEST_LINK = 8000


@dataclass(frozen=True)
class Cell:
    """A cell of a table: a text, perhaps with a unit, a line below, a full name; or a picture."""

    text: str
    href: str = ""
    picture: str = ""
    unit: str = ""
    under: str = ""
    full: str = ""


def link(path: str, **params: object) -> str:
    """An address of the site; None and empty values are left out."""
    pairs = [(name, value) for name, value in params.items() if value not in (None, "", [])]
    query = urlencode(pairs, doseq=True)
    return quote(path) + (f"?{query}" if query and len(query) < _LONGEST_LINK else "")


def history_link(event_name: str | None = None, **params: object) -> str:
    """The address of an operator over the builds, by default of whole runs."""
    return link("/explore/build_history", event=event_name or METHOD, **params)


def place_of(row: Mapping[str, Any]) -> str:
    """The device, model and backend of a row."""
    return place_text(**pick(row, *PLACE))


def pick(row: Mapping[str, Any], *names: str) -> Row:
    """Some fields of a row."""
    return {name: row[name] for name in names}


def natural_key(text: str) -> list[str | int]:
    """A key that sorts numbers in names by their value.

    >>> sorted(["device-10", "device-2"], key=natural_key)
    ['device-2', 'device-10']
    """
    parts = re.split(r"([0-9]+)", text)
    return [int(part) if i % 2 else part.casefold() for i, part in enumerate(parts)]


def more_text(count: int, noun: str, remedy: str = "use the filters") -> str:
    """A note that some things are not shown; empty if all are."""
    return f"{count_text(count, f'more {noun}')}: {remedy}." if count > 0 else ""


def date_text(when: datetime | None) -> str:
    """A time in UTC, to the minute."""
    return NONE if when is None else f"{when:%Y-%m-%d %H:%M}Z"


def age_text(when: datetime | None) -> str:
    """How long ago a time was."""
    if when is None:
        return NONE
    seconds = max((datetime.now(UTC) - when).total_seconds(), 0.0)
    for unit, size in (("day", 86400.0), ("hour", 3600.0), ("minute", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}s ago"
    return f"{seconds:.0f} s ago"
