"""Judging a fleet in parts, on any machine, with the same result as for the whole. Pure.

A part consists of whole families, with all devices of a pool, so no verdict depends on other parts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.warehouse.regressions.changes import NEIGHBOURS, LevelChange
from tracehouse.warehouse.regressions.fleet import (
    Cells,
    Fleet,
    FleetNight,
    MinChange,
    Series,
    SeriesHistory,
    build_fleet,
)
from tracehouse.warehouse.regressions.nightly import HALF, Rules
from tracehouse.warehouse.regressions.pools import NO_POOL
from tracehouse.warehouse.regressions.replay import Replay, replay
from tracehouse.warehouse.regressions.series_values import (
    CONTAINERS,
    gather_recordings,
    number_families,
    number_rows,
)
from tracehouse.warehouse.statistics.arrays import Floats, Ints
from tracehouse.warehouse.statistics.runs import places_in_runs

View = TypeVar("View")  # what is made of a part where it is judged
PART = ("pool", "model", "backend")  # columns of a part; without a pool, a device, too
_CLEARLY = 9.0  # as of three standard errors: what moves the beginning of a pool's change
_LEAST_SQUARES = 1e-8  # for a device whose nights are equal


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


class _Device(NamedTuple):
    """A device of a pool that may share its change.

    Attributes:
        series: Number of its series.
        nights: Its nights with dumps in the base of the pool's change, and since then, without
            those beyond another change of the device.
        level: The level in each night, by the values that decide.
    """

    series: int
    nights: Ints
    level: Floats

    def move(self, first_bad: int) -> float:
        """How far the level moves at a build; 0 if all nights are on one side of it."""
        is_after = self.nights >= first_bad
        if is_after.all() or not is_after.any():
            return 0.0
        return float(np.median(self.level[is_after]) - np.median(self.level[~is_after]))

    def misfit(self, first_bad: int) -> float:
        """How badly a step at a build describes the nights: -2 log likelihood, plus a constant."""
        is_after = self.nights >= first_bad
        sides = (self.level[side] for side in (is_after, ~is_after) if side.any())
        squares = sum(float(np.square(side - side.mean()).sum()) for side in sides)
        return len(self.nights) * float(np.log(squares + _LEAST_SQUARES))


def spread_to_devices(found: Replay, pool: Ints) -> list[LevelChange]:
    """The changes; a pool's change becomes one of each device that shares it.

    A device with a change of its own at that place keeps its own.

    Args:
        found: The result as of the last build.
        pool: For each series, the number of its pool's series.
    """
    own: dict[int, list[LevelChange]] = defaultdict(list)
    for change in found.changes:
        own[change.series].append(change)
    is_pool = np.isin(np.arange(len(pool)), pool)
    spread_out = [change for change in found.changes if not is_pool[change.series]]
    for change in found.changes:
        if is_pool[change.series]:
            devices = np.flatnonzero(pool == change.series).tolist()
            spread_out += _share(change, {series: own[series] for series in devices}, found)
    return spread_out


def _share(
    change: LevelChange, own: Mapping[int, Sequence[LevelChange]], found: Replay
) -> list[LevelChange]:
    """A pool's change as changes of its devices, whose own changes are given.

    One cause moves all devices about as far. If only half of a pool moves, the pool moves less
    far than these, so that its shift alone would include devices that are merely unsteady.
    """
    known, devices = [], []
    for series, changes in own.items():
        shifts = [each.shift for each in changes if _is_same(each, change)]
        known += shifts
        devices += [] if shifts else [_find_device(change, series, changes, found)]
    devices = [each for each in devices if each.move(change.first_bad) / change.shift >= HALF]
    if not devices:
        return []
    first_bad = _find_beginning(change, devices)
    moves = [device.move(first_bad) / change.shift for device in devices]
    usual = float(np.median([*moves, *(shift / change.shift for shift in known)]))
    return [
        _make_change(change, device, first_bad, found)
        for device, move in zip(devices, moves, strict=True)
        if 0 < HALF * usual <= move
    ]


def _is_same(own: LevelChange, change: LevelChange) -> bool:
    is_near = abs(own.first_bad - change.first_bad) <= NEIGHBOURS
    return is_near and own.direction == change.direction


def _find_device(
    change: LevelChange, series: int, own: Sequence[LevelChange], found: Replay
) -> _Device:
    count = found.cells.dump_count[series]
    ends = [end for each in own for end in (each.first_bad, each.fixed) if end is not None]
    begin = max((end for end in ends if end <= change.first_bad), default=0)
    stop = min(end for end in (*ends, change.fixed or len(count)) if end > begin)
    nights = np.arange(begin, stop)
    is_used = np.isin(nights, change.base) | (nights >= change.first_bad - NEIGHBOURS)
    nights = nights[is_used & (count[nights] > 0)]
    reaction = float(found.night.base.reaction[series] * found.night.is_residual[series])
    level = found.cells.median[series, nights]
    if reaction:
        level = found.values[series, nights] - reaction * found.states[series, nights]
    return _Device(series, nights, level)


def _find_beginning(change: LevelChange, devices: Sequence[_Device]) -> int:
    """The build at which the devices change: that of the pool, unless they clearly show another."""
    near = range(change.first_bad - NEIGHBOURS, change.first_bad + NEIGHBOURS + 1)
    misfit = {build: sum(device.misfit(build) for device in devices) for build in near}
    best = min(near, key=misfit.__getitem__)
    return best if misfit[change.first_bad] - misfit[best] > _CLEARLY else change.first_bad


def _make_change(
    change: LevelChange, device: _Device, first_bad: int, found: Replay
) -> LevelChange:
    before = device.nights[device.nights < first_bad]
    return replace(
        change,
        series=device.series,
        pool=change.series,
        pool_shift=change.shift,
        first_bad=first_bad,
        last_good=int(before[-1]),
        base=before,
        is_residual=bool(found.night.is_residual[device.series]),
        own_reaction=float(found.night.base.reaction[device.series]),
        shift=device.move(first_bad),
    )
