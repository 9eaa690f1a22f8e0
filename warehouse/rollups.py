"""Exact statistics per dump and event signature, from decoded events. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ingest import DecodedBatch
from ingest.schemas import DECODED, EVENT_STATS
from warehouse.percentiles import interpolate_sorted

WARM_UP_RUNS = 5
_SHARES = {"p10": 0.10, "p50": 0.50, "p90": 0.90, "p95": 0.95, "p99": 0.99}
_MIX = np.uint64(0x9E3779B97F4A7C15)

Ints = NDArray[np.int64]


_COLUMNS = pa.schema([DECODED["events"].field("dump_index"), *list(EVENT_STATS)[1:]])


class Statistics(NamedTuple):
    """What the store keeps of a batch's events besides themselves.

    Attributes:
        rows: `ingest.schemas.EVENT_STATS` with ``dump_index`` for ``dump_id``.
        resolution: Coarseness of each dump's delegate clock in ticks; shape (dumps,).
    """

    rows: pa.Table
    resolution: Ints


@dataclass(frozen=True)
class EventGroups:
    """Valid events, those of one dump and signature side by side in order of their runs.

    Attributes:
        dump: Number of the dump, per group.
        signature: Id of the event signature, per group.
        first: Row of its first event, per group.
        count: Its events, at least 1, per group.
        run: Run of each event.
        duration: Duration of each event in ticks.
    """

    dump: Ints
    signature: Ints
    first: Ints
    count: Ints
    run: Ints
    duration: Ints


def summarise(decoded: DecodedBatch, dump_count: int) -> Statistics:
    """Statistics of decoded dumps, refused ones included in the count."""
    groups = group_events(decoded.tables["events"])
    delegated = delegated_signatures(decoded)
    return Statistics(summarise_events(groups), delegate_resolution(groups, delegated, dump_count))


def delegated_signatures(decoded: DecodedBatch) -> set[int]:
    """Ids of the event signatures that carry a delegate id."""
    signatures = decoded.tables["event_signatures"]
    is_delegated = signatures["kind"].to_numpy() == "delegate_op"
    return set(signatures["event_signature_id"].to_numpy()[is_delegated].tolist())


def group_events(events: pa.Table) -> EventGroups:
    """Group decoded events by dump and event signature, leaving out flagged durations."""
    names = ("dump_index", "event_signature_id", "run_index", "duration_ticks", "flags")
    dump, signature, run, duration, flags = (events[name].to_numpy() for name in names)
    if (flags > 1).any():
        valid = flags <= 1
        dump, signature, run, duration = (c[valid] for c in (dump, signature, run, duration))
    first = _heads(dump, signature)
    keys = signature[first].view(np.uint64) ^ (dump[first].astype(np.uint64) * _MIX)
    if len(np.unique(keys)) < len(keys):  # a signature in several run signatures of a dump
        order = np.lexsort((run, signature, dump))
        dump, signature, run, duration = (c[order] for c in (dump, signature, run, duration))
        first = _heads(dump, signature)
    count = np.diff(np.append(first, len(dump)))
    return EventGroups(dump[first], signature[first], first, count, run, duration)


def _heads(dump: Ints, signature: Ints) -> Ints:
    changes = np.ones(len(dump), bool)
    changes[1:] = (dump[1:] != dump[:-1]) | (signature[1:] != signature[:-1])
    return np.flatnonzero(changes)


def summarise_events(groups: EventGroups) -> pa.Table:
    """Statistics of grouped events: a row of `Statistics.rows` per group, in their order."""
    duration, first = groups.duration, groups.first
    steady = _steady(groups)
    steady_count = np.add.reduceat(steady, first, dtype=np.int64) if len(first) else first
    some = np.flatnonzero(steady_count)
    steady_first = (np.cumsum(steady_count) - steady_count)[some]
    median = np.zeros(len(first))
    median[some] = _quantiles(duration[steady], steady_first, steady_count[some], {"p50": 0.5})[0]
    reduced = (
        [
            np.add.reduceat(duration == 0, first, dtype=np.int64),
            np.minimum.reduceat(duration, first),
            np.maximum.reduceat(duration, first),
            np.add.reduceat(duration, first, dtype=np.float64),
        ]
        if len(first)
        else [first, first, first, median]
    )
    arrays = [
        groups.dump.astype(np.int32),
        groups.signature,
        groups.count,
        *reduced,
        *_quantiles(duration, first, groups.count, _SHARES),
        steady_count,
        pa.array(median, mask=steady_count == 0),
    ]
    return pa.Table.from_arrays([pa.array(array) for array in arrays], schema=_COLUMNS)


def delegate_resolution(groups: EventGroups, delegated: set[int], dump_count: int) -> Ints:
    """Coarseness of the clock behind the delegate events of each dump.

    Args:
        groups: The events; `dump` is counted from 0.
        delegated: Ids of the event signatures that carry a delegate id.
        dump_count: Dumps in the batch.

    Returns:
        The largest of 1, 1,000 and 1,000,000 ticks that divides every such duration of the dump.
    """
    resolution = np.ones(dump_count, np.int64)
    is_delegated = np.isin(groups.signature, np.fromiter(delegated, np.int64, len(delegated)))
    dump = np.repeat(np.where(is_delegated, groups.dump, -1), groups.count)
    duration = groups.duration[dump >= 0]
    dump = dump[dump >= 0]
    with_delegates = np.bincount(dump, minlength=dump_count) > 0
    for step in (1_000, 1_000_000):
        uneven = np.bincount(dump[duration % step != 0], minlength=dump_count) > 0
        resolution[with_delegates & ~uneven] = step
    return resolution


def _steady(groups: EventGroups) -> NDArray[np.bool_]:
    """Whether each event lies after the first runs that its signature appears in."""
    run = groups.run
    is_new = np.ones(len(run), bool)
    is_new[1:] = run[1:] != run[:-1]
    is_new[groups.first] = True
    seen = np.cumsum(is_new)
    steady: NDArray[np.bool_] = seen - np.repeat(seen[groups.first], groups.count) >= WARM_UP_RUNS
    return steady


def _quantiles(
    duration: Ints, first: Ints, count: Ints, shares: dict[str, float]
) -> list[NDArray[np.float64]]:
    """Quantiles per group; groups of one size are sorted together as rows of a matrix."""
    out = [np.empty(len(first)) for _ in shares]
    for size in np.flatnonzero(np.bincount(count)).tolist():
        members = np.flatnonzero(count == size)
        rows = np.sort(duration[first[members][:, None] + np.arange(size)], axis=1)
        for column, share in zip(out, shares.values(), strict=True):
            column[members] = interpolate_sorted(rows, share)
    return out
