"""Dumps for a time axis, from files or stores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tracehouse.ingest.sources.paths import Source, read_dump_bytes
from tracehouse.queries.event_blocks.build import as_correlation, decode_tables
from tracehouse.queries.timeline.clocks import Clocks
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


def stored_dump(store: Store, dump_id: int) -> TimedDump:
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
