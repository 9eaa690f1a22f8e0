"""Ticks of a dump's events as integer nanoseconds on one axis. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tracehouse.ingest.producers import NS_PER_UNIT
from tracehouse.queries.timeline.dumps import Clocks
from tracehouse.queries.timeline.events import TimedEvent
from tracehouse.warehouse.errors import QueryError
from tracehouse.warehouse.statistics.arrays import Floats, Ints, Mask

if TYPE_CHECKING:
    import pyarrow as pa


MOST_NS = 1 << 60  # 36 years, more than any clock can measure
_WRONG_FLAGS = ~1


class Times(NamedTuple):
    """Times of events within their runs, one item per event.

    Attributes:
        starts_ns: Start relative to the run's first start.
        ends_ns: End; equal to the start if the duration is wrong.
        is_flagged: Whether the duration is wrong.
        is_placed: Whether the start is estimated: the event has another clock than the runtime's,
            and is placed relative to the call of its delegate.
    """

    starts_ns: Ints
    ends_ns: Ints
    is_flagged: Mask
    is_placed: Mask


def times_of(
    events: pa.Table, numbers: Ints, described: Sequence[TimedEvent], clocks: Clocks
) -> Times:
    """The times of a dump's events.

    Args:
        events: The rows of events.
        numbers: For each row, the index of its distinct event in `described`.
        described: The distinct events.
        clocks: The dump's clocks; QueryError is raised if only some of them have an unknown rate.
    """
    scales, is_other = _scales(described, clocks)
    offsets = events["start_offset_ticks"].to_numpy().view(np.uint64).astype(np.float64)
    is_flagged = is_wrong(events)
    lengths = np.where(is_flagged, 0, events["duration_ticks"].to_numpy()).astype(np.float64)
    starts, ends = offsets * scales[numbers], (offsets + lengths) * scales[numbers]
    is_placed = is_other[numbers]
    if is_placed.any():
        shift = _shifts(events, described, numbers, starts, is_placed)
        starts, ends = starts + shift, ends + shift
    return Times(_whole(starts), _whole(ends), is_flagged, is_placed)


def is_wrong(events: pa.Table) -> Mask:
    """For each row of events whether its duration is wrong."""
    wrong: Mask = (events["flags"].to_numpy() & _WRONG_FLAGS) != 0
    return wrong


def run_offsets(runs: pa.Table, clocks: Clocks) -> list[int]:
    """Start of each run relative to the first one; 0 for a run without events."""
    starts = [None if one is None else int(one) for one in runs["start_ticks"].to_pylist()]
    first = min((one for one in starts if one is not None), default=0)
    ns = 1.0 if clocks.ns_per_tick is None else clocks.ns_per_tick
    return [0 if one is None else min(round((one - first) * ns), MOST_NS) for one in starts]


def _scales(described: Sequence[TimedEvent], clocks: Clocks) -> tuple[Floats, Mask]:
    """Nanoseconds per tick of each distinct event, and whether its clock is not the runtime's.

    Raises:
        QueryError: Only some of the clocks have an unknown rate.
    """
    own = clocks.ns_per_tick
    known = [_scale(event, clocks) for event in described]
    if any((one is None) != (own is None) for one in known):
        raise QueryError(
            "one of its clocks has an unknown rate and another one does not, so they cannot share "
            "an axis; give the rate: --clock or --delegate-clock TICKS_PER_SECOND for a file, "
            "clock.ticks_per_second in the manifest of an ingested dump"
        )
    scales = np.array([1.0 if one is None else one for one in known], np.float64)
    is_other = [
        one != own or event.unit is not None for one, event in zip(known, described, strict=True)
    ]
    return scales, np.array(is_other, np.bool_)


def _scale(event: TimedEvent, clocks: Clocks) -> float | None:
    if event.unit is not None and clocks.ns_per_tick is not None:
        return NS_PER_UNIT.get(event.unit, clocks.ns_per_tick)
    if event.kind == "delegate_op":
        return clocks.of_delegate(event.origin.delegate_backend_name)
    return clocks.ns_per_tick


def _shifts(
    events: pa.Table,
    described: Sequence[TimedEvent],
    numbers: Ints,
    starts: Floats,
    is_placed: Mask,
) -> Floats:
    """Shifts that move the first event of another clock to the start of its delegate's call."""
    runs, turns = events["run_index"].to_pylist(), events["occurrence"].to_pylist()
    instructions = [event.instruction_id for event in described]
    calls: dict[tuple[int, int | None], list[float]] = {}
    firsts: dict[tuple[int, int | None, int], float] = {}
    is_call = np.array([event.kind == "delegate_call" for event in described], np.bool_)[numbers]
    for i in np.flatnonzero(is_call).tolist():
        calls.setdefault((runs[i], instructions[numbers[i]]), []).append(float(starts[i]))
    in_order = {call: sorted(set(found)) for call, found in calls.items()}
    placed = np.flatnonzero(is_placed).tolist()
    keys = []
    for i in placed:
        call = runs[i], instructions[numbers[i]]
        # Repeated events within one call belong to that call.
        turn = min(turns[i], len(in_order.get(call, [0.0])) - 1)
        keys.append((*call, turn))
    for i, key in zip(placed, keys, strict=True):
        firsts[key] = min(firsts.get(key, np.inf), float(starts[i]))
    shift = np.zeros(len(starts))
    for i, key in zip(placed, keys, strict=True):
        shift[i] = in_order.get(key[:2], [0.0])[key[2]] - firsts[key]
    return shift


def _whole(times: Floats) -> Ints:
    return np.rint(np.clip(times, 0, float(MOST_NS))).astype(np.int64)
