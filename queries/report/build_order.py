"""A note if two builds seem to be swapped: the head is older than the base."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from queries.report.parts import Row
from warehouse.queryable import Queryable


class _BuildTimes(NamedTuple):
    """Data that show which of two builds is older; None if unknown."""

    ordinal: int | None
    committed_at: datetime | None
    first_captured_at: datetime | None
    last_captured_at: datetime | None


def note_order(store: Queryable, *, base: str, head: str) -> str | None:
    """A note that base and head may be swapped; None unless the head is older.

    Builds are ordered by ordinals, else by commit times, else by recordings. Commit times
    count only if they are before the recordings, and recordings only if they do not overlap.
    """
    rows = store.query("coverage", build=[base, head]).to_pylist()
    was, now = (_times([row for row in rows if row["build"] == name]) for name in (base, head))
    pairs: tuple[tuple[str, Any, Any], ...] = (
        ("ordinal", now.ordinal, was.ordinal),
        ("commit time", now.committed_at, was.committed_at),
        ("recordings", now.last_captured_at, was.first_captured_at),
    )
    known = ((what, one < other) for what, one, other in pairs if None not in (one, other))
    by, is_swapped = next(known, ("", False))
    if not is_swapped:
        return None
    return (
        f"by its {by} the head {head} is older than the base {base}: 'slower' here means that "
        f"{base} is faster; if that is not intended, swap them"
    )


def _times(rows: Sequence[Row]) -> _BuildTimes:
    first = min(
        (row["first_captured_at"] for row in rows if row["first_captured_at"]), default=None
    )
    last = max((row["last_captured_at"] for row in rows if row["last_captured_at"]), default=None)
    ordinal, committed_at = (
        (rows[0]["build_ordinal"], rows[0]["committed_at"]) if rows else (None, None)
    )
    is_before = committed_at is not None and (first is None or committed_at < first)
    return _BuildTimes(ordinal, committed_at if is_before else None, first, last)
