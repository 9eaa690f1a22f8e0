"""Exact statistics per dump and event signature, from decoded events. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ingest.schemas import EVENT_STATS
from warehouse.percentiles import interpolate_sorted

WARM_UP_RUNS = 5
_SHARES = {"p10": 0.10, "p50": 0.50, "p90": 0.90, "p95": 0.95, "p99": 0.99}

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class _Groups:
    """Valid events of one dump and signature side by side: first row and count of each group."""

    dump: Ints
    signature: Ints
    first: Ints
    count: Ints
    run: Ints
    duration: Ints


def summarise_events(events: pa.Table) -> pa.Table:
    """Statistics of decoded events.

    Args:
        events: Rows of the events table, any numbering of dumps, in its order.

    Returns:
        One row per dump and event signature with valid events (`ingest.schemas.EVENT_STATS`),
        in order of both; flagged durations are left out.
    """
    groups = _group(events)
    columns = _summarise(groups.duration, groups.first, groups.count)
    steady = _steady(groups)
    kept = np.flatnonzero(steady)
    steady_count = np.add.reduceat(steady, groups.first) if len(steady) else groups.count
    first = np.cumsum(steady_count) - steady_count
    some = steady_count > 0
    median = np.zeros(len(steady_count))
    median[some] = _quantiles(groups.duration[kept], first[some], steady_count[some])["p50"]
    arrays = [
        pa.array(groups.dump.astype(np.int32)),
        pa.array(groups.signature),
        *(pa.array(column) for column in columns),
        pa.array(steady_count.astype(np.int64)),
        pa.array(median, mask=~some),
    ]
    return pa.Table.from_arrays(arrays, schema=EVENT_STATS)


def delegate_resolution(
    events: pa.Table, delegated: set[int], dump_count: int
) -> Ints:
    """Coarseness of the clock behind the delegate events of each dump.

    Args:
        events: Decoded events; dumps are numbered from 0.
        delegated: Ids of the event signatures that carry a delegate id.
        dump_count: Dumps in the batch.

    Returns:
        The largest of 1, 1,000 and 1,000,000 ticks that divides every such duration of the dump.
    """
    resolution = np.ones(dump_count, np.int64)
    signature = events["event_signature_id"].to_numpy()
    rows = np.isin(signature, np.fromiter(delegated, np.int64, len(delegated)))
    rows &= events["flags"].to_numpy() <= 1
    dump = events["dump_index"].to_numpy()[rows]
    duration = events["duration_ticks"].to_numpy()[rows]
    with_delegates = np.bincount(dump, minlength=dump_count) > 0
    for step in (1_000, 1_000_000):
        uneven = np.bincount(dump[duration % step != 0], minlength=dump_count) > 0
        resolution[with_delegates & ~uneven] = step
    return resolution


def _group(events: pa.Table) -> _Groups:
    dump, signature, run, duration, flags = (
        events[name].to_numpy()
        for name in (events.column_names[0], "event_signature_id", "run_index",
                     "duration_ticks", "flags")
    )  # fmt: skip
    if (flags > 1).any():
        valid = flags <= 1
        dump, signature, run, duration = (c[valid] for c in (dump, signature, run, duration))
    if not len(dump):
        none = np.zeros(0, np.int64)
        return _Groups(none, none, none, none, none, none)
    first = _heads(dump, signature)
    keys = np.column_stack([dump[first], signature[first]])
    distinct, member = np.unique(keys, axis=0, return_inverse=True)
    if len(distinct) < len(first) or (np.diff(member) < 0).any():
        count = np.diff([*first, len(dump)])
        order = np.lexsort((run, np.repeat(member, count)))
        dump, signature, run, duration = (c[order] for c in (dump, signature, run, duration))
        first = _heads(dump, signature)
    return _Groups(
        dump[first], signature[first], first, np.diff([*first, len(dump)]), run, duration
    )


def _heads(dump: Ints, signature: Ints) -> Ints:
    changes = (dump[1:] != dump[:-1]) | (signature[1:] != signature[:-1])
    return np.concatenate([[0], np.flatnonzero(changes) + 1])


def _steady(groups: _Groups) -> NDArray[np.bool_]:
    """Whether each event lies after the first runs that its signature appears in."""
    run = groups.run
    is_new = np.ones(len(run), bool)
    is_new[1:] = run[1:] != run[:-1]
    is_new[groups.first] = True
    seen = np.cumsum(is_new)
    return seen - np.repeat(seen[groups.first], groups.count) >= WARM_UP_RUNS


def _summarise(duration: Ints, first: Ints, count: Ints) -> list[NDArray[np.generic]]:
    if not len(first):
        none = np.zeros(0, np.int64)
        return [none, none, none, none, *(np.zeros(0) for _ in range(6))]
    return [
        count,
        np.add.reduceat((duration == 0).astype(np.int64), first),
        np.minimum.reduceat(duration, first),
        np.maximum.reduceat(duration, first),
        np.add.reduceat(duration.astype(np.float64), first),
        *_quantiles(duration, first, count).values(),
    ]


def _quantiles(duration: Ints, first: Ints, count: Ints) -> dict[str, NDArray[np.float64]]:
    """Quantiles per group; groups of one size are sorted together as rows of a matrix."""
    out = {name: np.empty(len(first)) for name in _SHARES}
    for size in np.unique(count).tolist():
        members = np.flatnonzero(count == size)
        rows = np.sort(duration[first[members][:, None] + np.arange(size)], axis=1)
        for name, share in _SHARES.items():
            out[name][members] = interpolate_sorted(rows, share)
    return out
