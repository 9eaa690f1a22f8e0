"""What changes a store besides dumps that come, the same in it and in a replay of its archive.

Events that were dropped, manifests that were amended, dumps that were forgotten, groups of alerts
that were decided about: an entry of the archive says all that is to be done.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter

import duckdb

from warehouse.archive.archive import Archive
from warehouse.archive.entries import AMENDED, DECIDED, DROPPED, FORGOTTEN, Entry
from warehouse.archive.history import recorded
from warehouse.storage.amended_dumps import amend_dumps, number_names
from warehouse.storage.decisions import store_decisions
from warehouse.storage.deleted_rows import delete_dumps, drop_events

_DEEDS = {
    AMENDED: amend_dumps,
    DROPPED: drop_events,
    FORGOTTEN: delete_dumps,
    DECIDED: store_decisions,
}
UPKEEP = frozenset(_DEEDS)


def do_upkeep(connection: duckdb.DuckDBPyConnection, entries: Sequence[Entry]) -> None:
    """Do what entries say, in order, in the open transaction; done again, it changes nothing."""
    wanted = (entry for entry in entries if entry.kind in UPKEEP)
    for kind, some in groupby(wanted, attrgetter("kind")):
        _DEEDS[kind](connection, list(some))


def record_upkeep(
    connection: duckdb.DuckDBPyConnection, archive: Archive, entries: Sequence[Entry]
) -> None:
    """Do what entries say; they are in the archive before it is done, if the store has one.

    Raises:
        StoreError: The archive cannot be written, or the disk is full.
    """
    if not entries:
        return
    kept = archive if archive.segments() else None  # one without dumps would rebuild nothing
    with recorded(connection, kept) as history:
        numbered = number_names(connection, entries)
        history.add(numbered)
        do_upkeep(connection, numbered)
