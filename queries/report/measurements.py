"""Measured values of a head that budgets limit: methods and measures of whole dumps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tracehouse.queries.report.amounts import in_base_unit
from tracehouse.queries.report.environment import Family
from tracehouse.queries.report.facts import measure_name
from tracehouse.queries.report.part_night import PartNight
from tracehouse.warehouse.regressions.series_values import COUNTED, MEASURES, RATES

_METHOD = "method"


class Measurement(NamedTuple):
    """The lowest and highest value of a limited measure in the head."""

    family: Family
    measure: str
    name: str
    unit: str
    low: float
    high: float


def measure_part(night: PartNight) -> Iterator[Measurement]:
    """Medians over the head's dumps of methods and of measures of whole dumps."""
    own = np.flatnonzero(night.is_own)
    history = night.fleet.history
    for series, keys in enumerate(night.fleet.keys.to_pylist()):
        kind, is_timed = keys["kind"], keys["unit"] == "ns" or keys["kind"] in COUNTED
        if keys["device"] is None or not is_timed or kind not in MEASURES | {_METHOD}:
            continue
        values = history.values_in(series, own)
        if not len(values):
            continue
        level = float(np.exp(np.median(values)))
        level = 1 / level if kind in RATES else level
        measure = _METHOD if kind == _METHOD else keys["event_name"]
        level, unit = in_base_unit(level, keys["delegate_id"] if kind in COUNTED else "ns")
        name = measure_name(measure, keys["run"], None)
        yield Measurement(Family.of(keys), measure, name, unit, level, level)
