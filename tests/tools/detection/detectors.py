"""Detectors of changes, plugged into one interface: values by build in, alarms out.

The nightly rule is one of them; all that the trials know of it is here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tests.tools.detection.farms import SERIES_PER_FAMILY, Farm
from tracehouse.warehouse.regressions.changes import ChangeGroup, SeriesPlace, group_changes
from tracehouse.warehouse.regressions.fleet import Series, SeriesHistory, lay_out
from tracehouse.warehouse.regressions.replay import replay
from tracehouse.warehouse.statistics.device_states import KERNELS

FLOOR_NS = 1000.0
_MIN_CHANGE = 0.03


class Alarm(NamedTuple):
    """What a detector says of a series.

    Attributes:
        series: Number of the series.
        night: Night whose report says it first.
        first_bad: Build that it names.
        direction: 1 for slower, -1 for faster.
    """

    series: int
    night: int
    first_bad: int
    direction: int


Detector = Callable[[Farm], list[Alarm]]


def lay_out_farm(farm: Farm) -> SeriesHistory:
    """A farm as the nightly rule takes it; each series is a kernel of its own."""
    count, nights, dumps = farm.values.shape
    series = Series(
        family=farm.family,
        kernel=np.arange(count),
        floor=np.full(count, np.log(FLOOR_NS)),
        half_tick=np.full(count, 0.5),
        min_change=np.full(count, _MIN_CHANGE),
        unit=np.full(count, KERNELS),
    )
    cells = np.arange(count * nights)
    dump = np.arange(nights * dumps) + nights * dumps * farm.family[:, None]
    sizes = np.full(len(cells), dumps)
    return lay_out(series, nights, cells, sizes, np.log(farm.values).ravel(), dump.ravel())


def detect_nightly(farm: Farm) -> list[Alarm]:
    """The confirmed changes of the nightly rule."""
    return [
        Alarm(change.series, change.confirmed, change.first_bad, change.direction)
        for change in replay(lay_out_farm(farm)).changes
        if change.confirmed is not None
    ]


def count_suspected(farm: Farm) -> int:
    """Series that the nightly rule suspects as of a farm's last night."""
    return sum(change.confirmed is None for change in replay(lay_out_farm(farm)).changes)


def group_alerts(farm: Farm) -> list[ChangeGroup]:
    """The alerts of the nightly rule; the operators of all families are alike."""
    places = [
        SeriesPlace(int(family), "model", operator_name(series), 0)
        for series, family in enumerate(farm.family)
    ]
    builds = [build_name(night) for night in range(farm.values.shape[1])]
    return group_changes(replay(lay_out_farm(farm)).changes, places, builds)


def build_name(night: int) -> str:
    """Name of a night's build."""
    return f"build-{night:02}"


def operator_name(series: int) -> str:
    """Operator type of a series."""
    return f"op{series % SERIES_PER_FAMILY}"
