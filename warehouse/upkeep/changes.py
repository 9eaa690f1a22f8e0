"""Changes of a store by upkeep entries; every change is idempotent."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter

import duckdb

from tracehouse.warehouse.archive.entries import AMENDED, DECIDED, DROPPED, FORGOTTEN, JUDGED, Entry
from tracehouse.warehouse.upkeep.amend import amend_dumps
from tracehouse.warehouse.upkeep.decide import store_decisions
from tracehouse.warehouse.upkeep.forget import delete_dumps
from tracehouse.warehouse.upkeep.nights import store_nights
from tracehouse.warehouse.upkeep.retain import drop_events

CHANGES = {
    AMENDED: amend_dumps,
    DROPPED: drop_events,
    FORGOTTEN: delete_dumps,
    DECIDED: store_decisions,
    JUDGED: store_nights,
}


def apply_changes(connection: duckdb.DuckDBPyConnection, entries: Sequence[Entry]) -> None:
    """Apply upkeep entries in order, in the open transaction; other entries are skipped."""
    for kind, some in groupby(entries, attrgetter("kind")):
        if kind in CHANGES:
            CHANGES[kind](connection, list(some))
