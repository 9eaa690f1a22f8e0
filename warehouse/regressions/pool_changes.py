"""Changes of pools, reported for their devices. Pure.

The devices of a pool may also change one by one: at other builds, by other amounts. So a pool's
change is reported only for devices whose own nights show it, and begins where these nights do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tracehouse.warehouse.regressions.groups import NEIGHBOURS
from tracehouse.warehouse.regressions.level_changes import LevelChange
from tracehouse.warehouse.regressions.nightly import HALF
from tracehouse.warehouse.regressions.replay import Replay
from tracehouse.warehouse.statistics.arrays import Floats, Ints

_CLEARLY = 9.0  # as of three standard errors: what moves the beginning of a pool's change
_LEAST_SQUARES = 1e-8  # of the nights of a device, which may be equal


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
