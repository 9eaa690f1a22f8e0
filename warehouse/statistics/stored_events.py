"""Events of one dump read back from the store, for statistics of dumps too big for memory."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb

from warehouse.statistics.rollups import EventGroups, group_events

_MOST_EVENTS = 1 << 21  # read back at a time; a signature is never split

_COUNTS = (
    "SELECT event_signature_id, count(*) FROM events WHERE dump_id = ? GROUP BY ALL ORDER BY ALL"
)
_EVENTS = """
SELECT 0::INTEGER AS dump_index, event_signature_id, run_index, duration_ticks, flags FROM events
WHERE dump_id = $dump AND event_signature_id IN (SELECT unnest($signatures))
ORDER BY event_signature_id, run_index, occurrence
"""


def stored_groups(connection: duckdb.DuckDBPyConnection, dump_id: int) -> Iterator[EventGroups]:
    """The events of a dump, grouped by signature, some signatures at a time; `dump` is 0."""
    counts = connection.execute(_COUNTS, [dump_id]).fetchall()
    some: list[int] = []
    room = _MOST_EVENTS
    for signature, count in [*counts, (None, _MOST_EVENTS)]:
        if some and count > room:
            values = {"dump": dump_id, "signatures": some}
            yield group_events(connection.sql(_EVENTS, params=values).to_arrow_table())
            some, room = [], _MOST_EVENTS
        some.append(signature)
        room -= count
