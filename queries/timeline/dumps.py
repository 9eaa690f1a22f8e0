"""Dumps of a timeline, and the clocks of their events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from tracehouse.ingest.sources.places import Source
from tracehouse.ingest.sources.reading import read_dump_bytes
from tracehouse.queries.event_blocks.build import as_correlation, decode_tables
from tracehouse.queries.event_blocks.time_scales import (
    Clock,
    TimeScale,
    parse_clock,
    parse_delegate_clocks,
    target_per_source,
)
from tracehouse.warehouse.errors import QueryError

if TYPE_CHECKING:
    import pyarrow as pa

    from tracehouse.warehouse.programs.correlation import Correlation
    from tracehouse.warehouse.store import Store

_FACTS = ("device", "build", "model", "backend", "sha256", "source", "captured_at", "dump_id")
_NAMED = (
    "SELECT sha256, source, CAST(captured_at AS STRING) AS captured_at, dump_id, device, build, "
    "model, backend, ns_per_tick, delegate_ns_per_tick, n_events FROM named_dumps "
    "WHERE dump_id = $id"
)


class Clocks(NamedTuple):
    """Nanoseconds per tick; None for cycles of unknown rate.

    Attributes:
        ns_per_tick: For the runtime's clock.
        delegates: For delegates' clocks by backend, "" for all others; else the runtime's clock.
    """

    ns_per_tick: float | None = 1.0
    delegates: Mapping[str, float | None] = {}

    def of_delegate(self, backend: str | None) -> float | None:
        """Nanoseconds per tick of a backend's events."""
        others = self.delegates.get("", self.ns_per_tick)
        return self.delegates.get(backend or "", others)


def parse_clocks(clock: str | None, delegate_clock: str | None) -> Clocks:
    """The clocks that a command line gives; by default the runtime's clock is in nanoseconds.

    Raises:
        QueryError: A clock is neither a unit nor a number of ticks per second.

    >>> parse_clocks("us", "HexagonBackend=19.2e6").of_delegate("HexagonBackend")
    52.083333333333336
    """
    delegates = parse_delegate_clocks(delegate_clock or "")
    return Clocks(
        _ns_per_tick(parse_clock(clock or TimeScale.NS)),
        {backend: _ns_per_tick(stated) for backend, stated in delegates.items()},
    )


def _ns_per_tick(clock: Clock) -> float | None:
    if clock is TimeScale.CYCLES:
        return None
    return float(target_per_source(clock, TimeScale.NS))


@dataclass(frozen=True)
class TimedDump:
    """A dump with its clocks and ETRecord."""

    label: str
    tables: Mapping[str, pa.Table]
    clocks: Clocks = Clocks()  # noqa: RUF009 - it cannot change
    correlation: Correlation | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


def read_dump(source: Source, etrecord: Source | Correlation | None, clocks: Clocks) -> TimedDump:
    """A dump on disk; an unreadable or malformed one raises IngestError."""
    return TimedDump(
        source.name,
        decode_tables(read_dump_bytes(source), source.name),
        clocks,
        as_correlation(etrecord),
        {"source": source.name},
    )


def read_stored_dump(store: Store, dump_id: int) -> TimedDump:
    """A dump of a store, with its clocks and ETRecord.

    Raises:
        QueryError: The store does not have the dump, or no longer has its events.
    """
    from tracehouse.queries.numeric_gap.stored_dumps import stored_correlation, stored_tables

    tables = stored_tables(store, dump_id)
    (found,) = store.sql(_NAMED, {"id": dump_id}).to_pylist()
    if found["n_events"] and not tables["events"].num_rows:
        raise QueryError(
            f"dump {dump_id}: its events were dropped from the store; get its file from the "
            f"archive: tracehouse store archive get {found['sha256'][:12]}"
        )
    facts = {name: found[name] for name in _FACTS if found[name] is not None}
    names = [facts[name] for name in ("device", "model", "backend", "build") if name in facts]
    return TimedDump(
        f"{' · '.join(names)} (dump {dump_id})",
        tables,
        Clocks(found["ns_per_tick"], {"": found["delegate_ns_per_tick"]}),
        stored_correlation(store, dump_id),
        facts,
    )
