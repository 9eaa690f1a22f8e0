"""Series of pools: an operator on all devices of a pool forms another series. Pure.

A value of such a series represents a device, not a dump: the median of its dumps in a night, minus
the initial level of the device, and minus the shift of all operators of the device in that night.
So devices of different speeds can be compared, and a night of a device counts once, however many
dumps it has. The series is judged like any other; `parts` reports its changes for devices.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.warehouse.regressions.series_values import FAMILY, KEY, SeriesValues, number_rows
from tracehouse.warehouse.statistics.arrays import Floats, Ints
from tracehouse.warehouse.statistics.device_states import NO_KERNEL
from tracehouse.warehouse.statistics.runs import find_starts, rank_in_groups
from tracehouse.warehouse.statistics.two_samples import row_median

NO_POOL = -1
_LEAST_DEVICES = 5  # in a pool: the number of values that a head needs
_MOST_VALUES = 24  # values of a night: with more devices, several share a value
LEAST_KERNELS = 6  # fewer kernels do not show the shift of a device
_FIRST_NIGHTS = 4  # their median is the initial level of a device


def add_pools(values: SeriesValues, kernel: Ints) -> tuple[SeriesValues, Ints]:
    """The series followed by those of their pools; and for each series the number of its pool's.

    An operator on five or more devices of a pool forms a series of the pool. The number is NO_POOL
    for series without a pool, and for series of pools. `kernel` is as in `Series`, without pools.
    """
    pool, first = _number_pools(values.keys)
    own = _pool_values(values, kernel, pool, first)
    count = len(pool)
    joined = SeriesValues(
        pa.concat_tables([values.keys, own.keys]),
        np.append(values.series, own.series + count),
        *(np.append(a, b) for a, b in zip(values[2:], own[2:], strict=True)),
    )
    of_pools = np.full(len(first), NO_POOL)
    return joined, np.append(np.where(pool == NO_POOL, NO_POOL, pool + count), of_pools)


def _number_pools(keys: pa.Table) -> tuple[Ints, Ints]:
    number, first = number_rows(keys.select([name for name in KEY if name != "device"]))
    is_large = np.bincount(number, minlength=len(first)) >= _LEAST_DEVICES
    is_large &= pc.is_valid(keys["pool"]).to_numpy(zero_copy_only=False)[first]
    place = np.where(is_large, np.cumsum(is_large) - 1, NO_POOL)
    return place[number], first[is_large]


def _pool_values(values: SeriesValues, kernel: Ints, pool: Ints, first: Ints) -> SeriesValues:
    cell, median = _medians(values, pool)
    series, night = values.series[cell], values.night[cell]
    number = rank_in_groups(series, night)  # number of earlier nights of the series
    level = _first_levels(series, number, median, len(pool))
    moved = median - level[series, np.minimum(number, _FIRST_NIGHTS - 1)]
    family = number_rows(values.keys.select(FAMILY))[0]
    moved -= _device_shifts(family[series], kernel[series], night, moved)
    device = _number_devices(series, night, pool)[series]
    shared = _share_values(pool[series], night, device % _MOST_VALUES, moved)
    members = np.unique(series)
    half_tick, is_relative = np.zeros(len(first)), np.zeros(len(first), bool)
    ticks = values.half_tick[members] / np.exp(level[members, -1])
    np.maximum.at(half_tick, pool[members], ticks)
    np.logical_or.at(is_relative, pool[members], values.has_reference[members])
    keys = values.keys.take(pa.array(first))
    no_device = pa.nulls(len(first), keys.schema.field("device").type)
    return SeriesValues(
        keys.set_column(keys.schema.get_field_index("device"), "device", no_device),
        *shared,
        np.arange(len(shared[3])),
        np.full(len(shared[3]), np.nan),
        np.full(len(first), -np.inf),
        half_tick,
        is_relative,
    )


def _medians(values: SeriesValues, pool: Ints) -> tuple[Ints, Floats]:
    """Comparable cells of pools, and the median of each."""
    start = np.cumsum(values.size) - values.size
    middle = values.logs[start + (values.size - 1) // 2] + values.logs[start + values.size // 2]
    cell = np.flatnonzero(
        (pool[values.series] != NO_POOL) & (middle / 2 >= values.floor[values.series])
    )
    return cell, middle[cell] / 2


def _first_levels(series: Ints, number: Ints, median: Floats, series_count: int) -> Floats:
    """The initial level of each series, as it was known in each of its first nights.

    Later nights must not change the results of earlier ones.
    """
    first = np.full((series_count, _FIRST_NIGHTS), np.nan)
    early = number < _FIRST_NIGHTS
    first[series[early], number[early]] = median[early]
    known = [row_median(first[:, : night + 1]) for night in range(_FIRST_NIGHTS)]
    return np.stack(known, axis=1)


def _number_devices(series: Ints, night: Ints, pool: Ints) -> Ints:
    """The number of each series in its pool; later devices get higher numbers."""
    came = np.full(len(pool), np.iinfo(np.int64).max)
    np.minimum.at(came, series, night)
    return rank_in_groups(pool, came)


def _device_shifts(family: Ints, kernel: Ints, night: Ints, moved: Floats) -> Floats:
    """The shift of all kernels of a device in a night; 0 for other series and for few kernels.

    If an operator of a pool moves like the others of its devices, the method has changed.
    """
    shift = np.zeros(len(moved))
    own = np.flatnonzero(kernel != NO_KERNEL)
    keys, votes, _ = _group_medians(np.stack([family, night, kernel])[:, own], moved[own])
    keys, common, count = _group_medians(keys[:2], votes)
    width = int(night.max(initial=0)) + 1
    place = np.searchsorted(keys[0] * width + keys[1], family[own] * width + night[own])
    shift[own] = np.where(count >= LEAST_KERNELS, common, 0.0)[place]
    return shift


def _share_values(
    pool: Ints, night: Ints, owner: Ints, value: Floats
) -> tuple[Ints, Ints, Ints, Floats]:
    """Pool, night and size of each cell, and its values: a median for each owner, ascending."""
    (pool, night, _), shared, _ = _group_medians(np.stack([pool, night, owner]), value)
    order = np.lexsort((shared, night, pool))
    pool, night = pool[order], night[order]
    first = find_starts([pool, night])
    return pool[first], night[first], np.diff(first, append=len(order)), shared[order]


def _group_medians(keys: Ints, value: Floats) -> tuple[Ints, Floats, Ints]:
    """The keys of each group, in order, as columns; the median and count of its values."""
    code = np.ravel_multi_index(tuple(keys), tuple(keys.max(axis=1, initial=0) + 1))
    order = np.lexsort((value, code))
    code, value = code[order], value[order]
    first = find_starts([code])
    count = np.diff(first, append=len(order))
    median = (value[first + (count - 1) // 2] + value[first + count // 2]) / 2
    return keys[:, order[first]], median, count
