"""Judging a fleet in parts, on any machine, with the same result as for the whole. Pure.

A part consists of whole families, with all devices of a pool, so no verdict depends on other parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.warehouse.regressions.fleet import Fleet, FleetNight, MinChange, build_fleet
from tracehouse.warehouse.regressions.history import Cells, Series, SeriesHistory
from tracehouse.warehouse.regressions.nightly import Rules
from tracehouse.warehouse.regressions.pools import NO_POOL, spread_to_devices
from tracehouse.warehouse.regressions.replay import Replay, replay
from tracehouse.warehouse.regressions.series_values import (
    CONTAINERS,
    gather_recordings,
    number_families,
    number_rows,
)
from tracehouse.warehouse.regressions.verdicts import LevelChange
from tracehouse.warehouse.statistics.arrays import Ints
from tracehouse.warehouse.statistics.runs import places_in_runs

View = TypeVar("View")  # what is made of a part where it is judged

PART = ("pool", "model", "backend")  # of one pool; without a pool, also of one device


class Selection(NamedTuple):
    """Names in the keys of the parts to judge; None for any.

    Attributes:
        place: Pools, and devices without one.
        model: Models.
        backend: Backends.
    """

    place: Sequence[str] | None = None
    model: Sequence[str] | None = None
    backend: Sequence[str] | None = None

    def choose(self, rows: pa.Table) -> pa.Table:
        """The rows of fleet_values that are of these parts."""
        for name, names in self._asdict().items():
            if names is not None:
                is_place = name == "place"
                column = pc.coalesce(rows["pool"], rows["device"]) if is_place else rows[name]
                rows = rows.filter(pc.is_in(column, pa.array(names, pa.string())))
        return rows


ALL_PARTS = Selection()


class PartResult(NamedTuple):
    """Some families, and their results as of the last night."""

    fleet: Fleet
    replay: Replay


class ChangedSeries(NamedTuple):
    """Series that changed, with what belongs to them.

    That is all series of their runs, the members of their pools, and the operators that changed
    methods and delegate calls gained or lost.

    Attributes:
        fleet: The series and their values; `nights` are those of the whole fleet.
        cells: Summaries of their cells.
        changes: The changes, by suspicion, then series; those of pools are spread to devices.
    """

    fleet: Fleet
    cells: Cells
    changes: list[LevelChange]


def judge_part(
    values: pa.Table,
    head: str,
    min_change: MinChange,
    rules: Rules,
    nights: tuple[FleetNight, ...] | None = None,
) -> PartResult:
    """Judge rows of fleet_values; for a part, `nights` are those of the whole fleet."""
    fleet = build_fleet(gather_recordings(values), head, min_change, nights)
    found = replay(fleet.history, rules)
    return PartResult(fleet._replace(history=found.history), found)


def keep_changed(part: PartResult) -> ChangedSeries:
    """The changed series of a part."""
    fleet, found = part
    changes = spread_to_devices(found, fleet.pool)
    changed = np.unique(np.array([change.series for change in changes], np.int64))
    pools = [change.pool for change in changes if change.pool is not None]
    is_method = pc.equal(fleet.keys["kind"], "method").to_numpy()
    family = fleet.history.series.family
    is_kept = np.isin(np.arange(len(family)), [*changed, *pools]) | np.isin(fleet.pool, pools)
    is_kept |= is_method & np.isin(family, family[changed])
    timed = changed[~fleet.is_measure[changed] & ~fleet.is_pool[changed]].tolist()
    runs = {(family[each], fleet.keys["run"][each].as_py()): each for each in timed}
    for each in runs.values():
        is_kept[same_run(fleet, each)] = True
    containers = pc.is_in(fleet.keys["kind"], pa.array(sorted(CONTAINERS))).to_numpy()
    for change in changes:
        if containers[change.series]:
            is_kept[find_edits(fleet, found.cells, change).series] = True
    kept = ChangedSeries(fleet, found.cells, changes)
    return _take([kept], np.flatnonzero(is_kept))


def same_run(fleet: Fleet, series: int) -> Ints:
    """The series of a series' runs on its device: their methods, delegate calls and operators."""
    family = fleet.history.series.family
    here = np.flatnonzero((family == family[series]) & ~fleet.is_measure & ~fleet.is_pool)
    runs = fleet.keys["run"].take(pa.array(here))
    own: Ints = here[pc.equal(runs, fleet.keys["run"][series]).to_numpy()]
    return own


class Edits(NamedTuple):
    """The operators that a changed container gained or lost.

    Attributes:
        series: Numbers of the operators.
        good: The last night before the change.
        last: The last night with it.
    """

    series: Ints
    good: int
    last: int


def find_edits(fleet: Fleet, cells: Cells, change: LevelChange) -> Edits:
    """The operators that a changed container gained or lost since its last good night."""
    family, counts = fleet.history.series.family, cells.dump_count
    last = int(max(change.list_nights(counts[change.series]), default=change.first_bad))
    here = np.flatnonzero((family == family[change.series]) & ~fleet.is_measure & ~fleet.is_pool)
    was, now = counts[here, change.last_good] > 0, counts[here, last] > 0
    is_known = was.any() and now.any()
    return Edits(here[(was != now) & is_known], change.last_good, last)


def join_changed(parts: Sequence[ChangedSeries]) -> ChangedSeries:
    """The changed series of several parts, equal to those of the whole fleet."""
    keys = pa.concat_tables([part.fleet.keys for part in parts])
    return _take(parts, number_rows(keys)[1])


def _take(parts: Sequence[ChangedSeries], order: Ints) -> ChangedSeries:
    """Some series of parts in an order; `order` numbers the series of all parts one by one."""
    sizes = [len(part.fleet.keys) for part in parts]
    first = np.cumsum([0, *sizes[:-1]])
    place = np.full(sum(sizes), NO_POOL)
    place[order] = np.arange(len(order))
    places = [place[start + np.arange(size)] for start, size in zip(first, sizes, strict=True)]
    fleets = [part.fleet for part in parts]
    changes = [
        replace(
            change,
            series=int(own[change.series]),
            pool=None if change.pool is None else int(own[change.pool]),
        )
        for part, own in zip(parts, places, strict=True)
        for change in part.changes
    ]
    cells = (np.concatenate(each)[order] for each in zip(*(p.cells for p in parts), strict=True))
    return ChangedSeries(
        _join_fleets(fleets, places, order),
        Cells(*cells),
        sorted(changes, key=lambda change: (change.suspected, change.series)),
    )


def _join_fleets(fleets: Sequence[Fleet], places: Sequence[Ints], order: Ints) -> Fleet:
    keys = pa.concat_tables([fleet.keys for fleet in fleets]).take(pa.array(order))
    operators = [name for fleet in fleets for name in fleet.operators]
    pools = [
        np.where(fleet.pool == NO_POOL, NO_POOL, place[fleet.pool])
        for fleet, place in zip(fleets, places, strict=True)
    ]
    known = set(
        zip(*(keys[name].to_pylist() for name in ("device", "model", "backend")), strict=True)
    )
    return Fleet(
        fleets[0].nights,
        {
            key: session
            for fleet in fleets
            for key, session in fleet.sessions.items()
            if key[:3] in known
        },
        keys,
        tuple(operators[series] for series in order.tolist()),
        _join_histories([fleet.history for fleet in fleets], order, number_families(keys)),
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
        np.concatenate([h.reference for h in histories])[place],
        np.concatenate([h.dump for h in histories])[place],
        start,
    )
