"""A note if two builds seem to be swapped: the head is older than the base."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tracehouse.queries.report.figures import build_text
from tracehouse.queries.report.parts import Row
from tracehouse.warehouse.queryable import Queryable

_BUILDS = """SELECT build, position, build_ordinal, build_parent, committed_at, first_captured_at,
last_captured_at FROM builds_in_order"""


def note_order(store: Queryable, *, base: str, head: str) -> str | None:
    """A note that base and head may be swapped; None unless the head is older.

    It is older if it comes first in the order of builds, and this is no accident: builds may be
    recorded side by side, and a commit time that is not before the recordings says nothing.
    """
    builds = {row["build"]: row for row in store.sql(_BUILDS).to_pylist()}
    was, now = builds.get(base), builds.get(head)
    if was is None or now is None or now["position"] > was["position"]:
        return None
    pairs: tuple[tuple[str, Any, Any], ...] = (
        ("ordinal", now["build_ordinal"], was["build_ordinal"]),
        ("parents", *_generations(builds, head, base)),
        ("commit time", _commit_time(now), _commit_time(was)),
        ("recordings", now["last_captured_at"], was["first_captured_at"]),
    )
    known = ((what, one < other) for what, one, other in pairs if None not in (one, other))
    by, is_swapped = next(known, ("", False))
    if not is_swapped:
        return None
    return (
        f"{build_text(head)} is older than {build_text(base)} by its {by}, so 'slower' means that "
        f"{build_text(base)} is faster: swap the builds if that is not intended"
    )


def _generations(builds: Mapping[str, Row], head: str, base: str) -> tuple[int | None, int | None]:
    """The generations of two builds, if the head is a stated ancestor of the base."""
    line = [base]
    while (parent := builds[line[-1]]["build_parent"]) in builds and parent not in line:
        line.append(parent)
    return (0, line.index(head)) if head in line else (None, None)


def _commit_time(row: Row) -> datetime | None:
    """When a build was committed, if that was before its recordings."""
    at, first = row["committed_at"], row["first_captured_at"]
    return at if at is not None and (first is None or at < first) else None
