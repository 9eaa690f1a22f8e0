"""Files out of the archive, by how their SHA-256 begins."""

from __future__ import annotations

import re
from pathlib import Path

from warehouse.archive.archive import Archive
from warehouse.archive.entries import Entry
from warehouse.errors import QueryError

_LEAST_DIGITS = 6


def find_archived(store: Path, prefix: str) -> Entry:
    """The one file whose SHA-256 begins like that, with its bytes.

    A damaged segment raises ArchiveError.

    Raises:
        QueryError: There is none, or several, or too few digits to tell.
    """
    wanted = prefix.lower()
    if not re.fullmatch(rf"[0-9a-f]{{{_LEAST_DIGITS},64}}", wanted):
        raise QueryError(
            f"'{prefix}': wanted the first {_LEAST_DIGITS} or more hex digits of a SHA-256"
        )
    archive = Archive(store)
    found = {
        entry.sha256
        for _, entry in archive.entries(with_data=False)
        if entry.byte_count is not None and (entry.sha256 or "").startswith(wanted)
    }
    if len(found) > 1:
        raise QueryError(f"'{prefix}': {len(found)} files begin like that; give more digits")
    entry = archive.find(found.pop() or "") if found else None
    if entry is None:
        raise QueryError(f"{archive.folder}: has no file whose SHA-256 begins with '{prefix}'")
    return entry
