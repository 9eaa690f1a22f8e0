"""Measures of whole dumps besides operators: their values in a head, and their words."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

import numpy as np

from tracehouse.queries.report.content import BuildPoint, Member
from tracehouse.queries.report.environment import Family
from tracehouse.queries.report.facts import measure_name
from tracehouse.queries.report.settings import Settings, in_base_unit
from tracehouse.warehouse.regressions.fleet import Fleet
from tracehouse.warehouse.regressions.nightly import Rules
from tracehouse.warehouse.regressions.replay import Replay
from tracehouse.warehouse.regressions.series_values import COUNTED, MEASURES, RATES
from tracehouse.warehouse.statistics.arrays import Mask

_METHOD = "method"


class PartNight(NamedTuple):
    """A part of the fleet, with all values and results."""

    head: str
    fleet: Fleet
    replay: Replay
    settings: Settings
    rules: Rules
    day: date | None

    @property
    def is_own(self) -> Mask:
        """Whether each night is the head's."""
        return np.array([night.build == self.head for night in self.fleet.nights])


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


def as_measure(member: Member) -> Member:
    """A member as shown in reports; members other than measures of whole dumps are unchanged.

    The values of a rate are judged as their inverse, so that more is worse. The cost of a measure
    is not a cost per run.
    """
    if member.kind not in MEASURES:
        return member
    if member.kind not in COUNTED:
        return member.model_copy(update={"cost_ns": None})
    is_rate = member.kind in RATES
    ends = [member.delta, member.delta_low, member.delta_high]
    delta, low, high = (_inverse_share(share) if is_rate else share for share in ends)
    return member.model_copy(
        update={
            "unit": member.delegate_id,
            "delegate_id": None,
            "cost_ns": None,
            "delta": delta,
            "delta_low": high if is_rate else low,
            "delta_high": low if is_rate else high,
            "base_values": _shown(member.base_values, is_rate=is_rate),
            "head_values": _shown(member.head_values, is_rate=is_rate),
            "history": [_shown_point(point, is_rate=is_rate) for point in member.history],
        }
    )


def _inverse_share(share: float | None) -> float | None:
    return None if share is None else 1 / (1 + share) - 1


def _shown(values: list[float], *, is_rate: bool) -> list[float]:
    return sorted(1 / value for value in values) if is_rate else values


def _shown_point(point: BuildPoint, *, is_rate: bool) -> BuildPoint:
    if point.median is None or not is_rate:
        return point
    low, high = (None if edge is None else 1 / edge for edge in (point.p90, point.p10))
    speeds = {
        name: None if value is None else 1 / value
        for name, value in (("fast", point.fast), ("slow", point.slow))
    }
    return point.model_copy(update={"median": 1 / point.median, "p10": low, "p90": high, **speeds})
