"""The inbox of a store: dumps handed over to it, and its files."""

from __future__ import annotations

from pathlib import Path

from tracehouse import Inbox
from tracehouse.ingest.dump import Dump


def hand_over(store: Path, *dumps: Dump) -> None:
    """Hand dumps over to a store, in one log."""
    with Inbox.open(store) as inbox:
        for dump in dumps:
            inbox.accept(dump)


def names_in_inbox(store: Path) -> list[str]:
    """Names of the files that are left in the inbox."""
    return sorted(path.name for path in (store / "inbox").iterdir())
