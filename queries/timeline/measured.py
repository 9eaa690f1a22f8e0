"""Removing values that are not times, such as delegates' counters, before drawing an axis."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tracehouse.ingest.producers import NS_PER_UNIT
from tracehouse.queries.timeline.dumps import TimedDump

if TYPE_CHECKING:
    import pyarrow as pa


def with_times_only(dump: TimedDump) -> TimedDump:
    """The dump without values that are not times, or that cannot be converted to the dump's cycles.

    Such values, and times in units of their own, mostly start at 0; so the start of a run becomes
    that of its first event on the dump's clock.
    """
    signatures = dump.tables["event_signatures"]
    units = signatures["unit"].to_pylist()
    if not any(units):
        return dump
    events, ids = dump.tables["events"], signatures["event_signature_id"].to_numpy()
    of_events = events["event_signature_id"].to_numpy()

    def is_among(wanted: list[bool]) -> NDArray[np.bool_]:
        return np.isin(of_events, ids[np.array(wanted, np.bool_)])

    known = () if dump.clocks.ns_per_tick is None else NS_PER_UNIT
    is_time = is_among([unit is None or unit in known for unit in units])
    kinds = signatures["kind"].to_pylist()
    is_own = is_among([u is None and k != "delegate_op" for u, k in zip(units, kinds, strict=True)])
    tables = _rebase_starts(dump.tables["runs"], events, is_own)
    return replace(
        dump, tables={**dump.tables, **tables, "events": tables["events"].filter(is_time)}
    )


def _rebase_starts(
    runs: pa.Table, events: pa.Table, is_own: NDArray[np.bool_]
) -> dict[str, pa.Table]:
    """Both tables with starts relative to the first of the chosen events of each run."""
    import pyarrow as pa

    of_run = events["run_index"].to_numpy()
    offsets = events["start_offset_ticks"].to_numpy().view(np.uint64)
    first = np.full(runs.num_rows, np.iinfo(np.uint64).max, np.uint64)
    np.minimum.at(first, of_run[is_own], offsets[is_own])
    first[first == np.iinfo(np.uint64).max] = 0
    starts = [
        None if start is None else start + more
        for start, more in zip(runs["start_ticks"].to_pylist(), first.tolist(), strict=True)
    ]
    moved = np.where(is_own, offsets - first[of_run], offsets).view(np.int64)
    return {
        "runs": _with(runs, "start_ticks", pa.array(starts, runs.schema.field("start_ticks").type)),
        "events": _with(events, "start_offset_ticks", pa.array(moved)),
    }


def _with(table: pa.Table, name: str, column: pa.Array) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, column)
