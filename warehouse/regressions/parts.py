"""Judging a fleet in parts, on any machine, with the same result as for the whole. Pure.

A part consists of whole families, with all devices of a pool, so no verdict depends on other parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from warehouse.regressions.fleet import Fleet, FleetNight, MinChange, build_fleet
from warehouse.regressions.history import Cells, Series, SeriesHistory
from warehouse.regressions.level_changes import LevelChange
from warehouse.regressions.nightly import NightResult, Rules
from warehouse.regressions.pools import NO_POOL
from warehouse.regressions.replay import Replay, replay
from warehouse.regressions.series_values import number_families, number_rows
from warehouse.statistics.arrays import Ints
from warehouse.statistics.runs import places_in_runs

PART = ("pool", "model", "backend")  # of one pool; without a pool, also of one device


class PartResult(NamedTuple):
    """Some families, and their results as of the last night."""

    fleet: Fleet
    replay: Replay


def judge_part(
    rows: pa.Table,
    head: str,
    min_change: MinChange,
    rules: Rules,
    nights: tuple[FleetNight, ...] | None = None,
) -> PartResult:
    """Judge rows of fleet_values; for a part, `nights` are those of the whole fleet."""
    fleet = build_fleet(rows, head, min_change, nights)
    found = replay(fleet.history, rules)
    return PartResult(fleet._replace(history=found.history), found)


def drop_quiet_values(part: PartResult) -> PartResult:
    """The part without values of unchanged series; counts and medians stay."""
    fleet, history = part.fleet, part.fleet.history
    changed = [change.series for change in part.replay.changes]
    is_changed = np.isin(np.arange(history.series_count), changed) | np.isin(fleet.pool, changed)
    is_kept = np.repeat(is_changed, history.build_count)
    count = np.diff(history.start)
    kept = history._replace(
        values=history.values[np.repeat(is_kept, count)],
        states=history.states[np.repeat(is_kept, count)],
        dump=history.dump[np.repeat(is_kept, count)],
        start=np.concatenate([[0], np.cumsum(count * is_kept)]),
    )
    return part._replace(fleet=fleet._replace(history=kept))


def join_parts(parts: Sequence[PartResult]) -> PartResult:
    """The combined result of parts, equal to that of `judge_part` for all their rows."""
    keys = pa.concat_tables([part.fleet.keys for part in parts])
    place, order = number_rows(keys)
    counts = [len(part.fleet.keys) for part in parts]
    places = np.split(place, np.cumsum(counts)[:-1])
    joined = keys.take(pa.array(order))
    family = number_families(joined)
    fleet = _join_fleets([part.fleet for part in parts], places, joined, order, family)
    return PartResult(fleet, _join_replays(parts, places, order, family))


def _join_fleets(
    fleets: Sequence[Fleet], places: Sequence[Ints], keys: pa.Table, order: Ints, family: Ints
) -> Fleet:
    operators = [name for fleet in fleets for name in fleet.operators]
    pools = [
        np.where(fleet.pool == NO_POOL, NO_POOL, place[fleet.pool])
        for fleet, place in zip(fleets, places, strict=True)
    ]
    return Fleet(
        fleets[0].nights,
        keys,
        tuple(operators[series] for series in order.tolist()),
        _join_histories([fleet.history for fleet in fleets], order, family),
        np.concatenate([fleet.has_reference for fleet in fleets])[order],
        np.concatenate(pools)[order],
    )


def _join_histories(histories: Sequence[SeriesHistory], order: Ints, family: Ints) -> SeriesHistory:
    builds = histories[0].build_count
    series = (
        np.concatenate(each)[order] for each in zip(*(h.series for h in histories), strict=True)
    )
    count = np.concatenate([np.diff(h.start) for h in histories])
    first = np.cumsum(count) - count
    cells = (order[:, None] * builds + np.arange(builds)).ravel()
    start = np.concatenate([[0], np.cumsum(count[cells])])
    place = np.repeat(first[cells], count[cells]) + places_in_runs(count[cells])
    return SeriesHistory(
        Series(*series)._replace(family=family),
        builds,
        np.concatenate([h.values for h in histories])[place],
        np.concatenate([h.states for h in histories])[place],
        np.concatenate([h.dump for h in histories])[place],
        start,
    )


def _join_replays(
    parts: Sequence[PartResult], places: Sequence[Ints], order: Ints, family: Ints
) -> Replay:
    replays = [part.replay for part in parts]
    changes = [
        replace(change, series=int(place[change.series]))
        for one, place in zip(replays, places, strict=True)
        for change in one.changes
    ]
    shifts = np.zeros((int(family.max(initial=-1)) + 1, replays[0].shifts.shape[1]))
    for part, place in zip(parts, places, strict=True):
        shifts[family[place]] = part.replay.shifts[part.fleet.history.series.family]
    return Replay(
        sorted(changes, key=_order),
        _join_nights([one.night for one in replays], places, order),
        shifts,
        Cells(*_in_order([one.cells for one in replays], order)),
        np.concatenate([one.states for one in replays])[order],
        parts[0].fleet.history,
    )


def _join_nights(nights: Sequence[NightResult], places: Sequence[Ints], order: Ints) -> NightResult:
    tested = np.concatenate(
        [place[night.tested] for night, place in zip(nights, places, strict=True)]
    )
    row = np.argsort(tested)
    comparison = nights[0].comparison
    return NightResult(
        np.concatenate([night.status for night in nights])[order],
        np.concatenate([night.direction for night in nights])[order],
        type(nights[0].base)(*_in_order([night.base for night in nights], order)),
        tested[row],
        type(comparison)(*_in_order([night.comparison for night in nights], row)),
        np.concatenate([night.p_adjusted for night in nights])[row],
        np.concatenate([night.is_residual for night in nights])[order],
    )


def _in_order(tuples: Sequence[Iterable[NDArray[Any]]], order: Ints) -> Iterator[NDArray[Any]]:
    """The concatenated columns of several tuples of columns, reordered."""
    return (np.concatenate(columns)[order] for columns in zip(*tuples, strict=True))


def _order(change: LevelChange) -> tuple[int, int]:
    return change.suspected, change.series
