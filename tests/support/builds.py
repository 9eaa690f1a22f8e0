"""A store of builds of which the values of dumps are what they are said to be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb

from tests.support.store_rows import Event, StoreRows

CONV = "native_call_conv.out"


class Builds:
    """Dumps of builds; cases of a comparison are usually devices of their own.

    Attributes:
        store: What else the store holds can be added to it.
    """

    def __init__(self) -> None:
        self.store = StoreRows()

    def add(self, base: Sequence[Any], head: Sequence[Any], **columns: Any) -> Builds:
        """Add a dump of builds "base" and "head" per item: as `add_build` takes them."""
        for build, dumps in (("base", base), ("head", head)):
            self.add_build(build, dumps, **columns)
        return self

    def add_build(self, build: str, dumps: Sequence[Any], **columns: Any) -> None:
        """Add a dump per item: its events, or by operator its duration, or that of CONV."""
        for item in dumps:
            events = item
            if not isinstance(item, list):
                named = item if isinstance(item, dict) else {CONV: item}
                events = [Event(name, ticks, n) for n, (name, ticks) in enumerate(named.items(), 1)]
            self.store.add_run(self.store.add_dump(build=build, **columns), events)

    def connect(self) -> duckdb.DuckDBPyConnection:
        """A connection to the store, in which the one event of a dump is the median of 45."""
        connection = self.store.connect()
        connection.execute(
            "UPDATE event_stats SET steady_count = 45, steady_grouped_ticks = p50_ticks"
        )
        return connection
