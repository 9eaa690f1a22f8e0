"""Files in the archive, found by the first digits of their SHA-256."""

from __future__ import annotations

import re
from pathlib import Path

from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.archive.entries import Entry
from tracehouse.warehouse.errors import QueryError

_LEAST_DIGITS = 6


def check_prefix(prefix: str) -> str:
    """The prefix of a SHA-256, in lower case.

    Raises:
        QueryError: The prefix has too few digits, or is not hexadecimal.
    """
    if not re.fullmatch(rf"[0-9a-fA-F]{{{_LEAST_DIGITS},64}}", prefix):
        raise QueryError(
            f"'{prefix}': wanted the first {_LEAST_DIGITS} or more hex digits of a SHA-256"
        )
    return prefix.lower()


def find_archived(store: Path, prefix: str) -> Entry:
    """The one file whose SHA-256 has the prefix, with its bytes.

    A damaged segment raises ArchiveError.

    Raises:
        QueryError: No file or several have the prefix, or it is malformed.
    """
    wanted, archive = check_prefix(prefix), Archive(store)
    found = {
        entry.sha256
        for _, entry in archive.entries(with_data=False)
        if entry.byte_count is not None and (entry.sha256 or "").startswith(wanted)
    }
    if len(found) > 1:
        raise QueryError(f"'{prefix}': {len(found)} files have this prefix; give more digits")
    entry = archive.find(found.pop() or "") if found else None
    if entry is None:
        raise QueryError(
            f"{archive.folder}: has no file whose SHA-256 begins with '{prefix}'; 'tracehouse "
            "query dumps' lists those of dumps"
        )
    return entry
