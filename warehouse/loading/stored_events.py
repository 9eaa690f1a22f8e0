"""Events of one dump read back from the store, for statistics of dumps too big for memory."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb

from warehouse.catalogue.sql_files import read_statement
from warehouse.statistics.rollups import EventGroups, group_events

_MOST_EVENTS = 1 << 21  # read back at a time; a signature is never split


def stored_groups(connection: duckdb.DuckDBPyConnection, dump_id: int) -> Iterator[EventGroups]:
    """The events of a dump, grouped by signature, some signatures at a time; `dump` is 0."""
    counts = connection.execute(read_statement("signature_counts"), {"dump": dump_id}).fetchall()
    some: list[int] = []
    room = _MOST_EVENTS
    for signature, count in [*counts, (None, _MOST_EVENTS)]:
        if some and count > room:
            values = {"dump": dump_id, "signatures": some}
            events = connection.sql(read_statement("events_of_signatures"), params=values)
            yield group_events(events.to_arrow_table())
            some, room = [], _MOST_EVENTS
        some.append(signature)
        room -= count
