"""Detectors of changes, plugged into one interface: values by build in, alarms out."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tests.tools.detection.farms import Farm
from warehouse.regressions.history import Series, SeriesHistory, lay_out
from warehouse.regressions.nightly import Rules
from warehouse.regressions.replay import Replay, replay

_FLOOR_NS = 1000.0
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
        floor=np.full(count, np.log(_FLOOR_NS)),
        half_tick=np.full(count, 0.5),
        min_change=np.full(count, _MIN_CHANGE),
    )
    cells = np.arange(count * nights)
    values = np.sort(np.log(farm.values), axis=2)
    return lay_out(series, nights, cells, np.full(len(cells), dumps), values.ravel())


def detect_nightly(farm: Farm) -> list[Alarm]:
    """The confirmed changes of the nightly rule."""
    return list_confirmed(replay(lay_out_farm(farm), Rules()))


def list_confirmed(replayed: Replay) -> list[Alarm]:
    """The confirmed changes of a replay."""
    return [
        Alarm(change.series, change.confirmed, change.first_bad, change.direction)
        for change in replayed.changes
        if change.confirmed is not None
    ]
