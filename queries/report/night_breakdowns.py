"""The breakdowns of the methods that an alert of a night is about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from tracehouse.queries.report.breakdown import PLACE, Breakdown
from tracehouse.queries.report.content import Member
from tracehouse.queries.report.figures import is_measure
from tracehouse.queries.report.members import changed_nights, list_methods
from tracehouse.queries.report.method_breakdowns import (
    MOST_METHODS,
    MethodTimes,
    break_down_methods,
)
from tracehouse.queries.report.night import HeadNight
from tracehouse.warehouse.queryable import Queryable
from tracehouse.warehouse.regressions.level_changes import LevelChange, compare_builds
from tracehouse.warehouse.regressions.parts import same_run
from tracehouse.warehouse.statistics.arrays import Ints

_Times = tuple[float, float]


class NightBreakdowns:
    """Makes the breakdowns of one night."""

    def __init__(self, store: Queryable, night: HeadNight) -> None:
        self._store, self._night = store, night
        self._methods = list_methods(night)

    def of(self, changes: Sequence[LevelChange], members: Sequence[Member]) -> list[Breakdown]:
        """The breakdown of each method that is a member or has one, the costliest first.

        The members are those of the changes. Of many methods, only some have one.
        """
        shown = {
            change.series: (member.base_ns, member.head_ns)
            for change, member in zip(changes, members, strict=True)
            if member.base_ns is not None and member.head_ns is not None
        }
        of_methods: dict[int, LevelChange] = {}
        timed = [
            (change, member)
            for change, member in zip(changes, members, strict=True)
            if member.device is not None and not is_measure(member) and change.series in shown
        ]
        # Methods that changed come first, then those of the costliest operators.
        timed.sort(key=lambda pair: (pair[1].kind != "method", -abs(pair[1].cost_ns or 0.0)))
        for change, _ in timed:
            series = self._method_of(change.series)
            if series is not None:
                own = replace(change, series=series)
                of_methods.setdefault(series, change if series == change.series else own)
        found = (self._times_of(change, shown) for change in of_methods.values())
        known = (one for one in found if one is not None)
        return break_down_methods(self._store, list(islice(known, MOST_METHODS)))

    def _method_of(self, series: int) -> int | None:
        """The series of the method that an operator is of; None if the night has none."""
        fleet = self._night.fleet
        family = int(fleet.history.series.family[series])
        return self._methods.get((family, fleet.keys["run"][series].as_py()))

    def _times_of(self, change: LevelChange, shown: dict[int, _Times]) -> MethodTimes | None:
        night, since = self._night, changed_nights(self._night, change)
        names, keys = night.fleet.name, night.fleet.name(change.series)
        runs = same_run(night.fleet, change.series).tolist()
        own = [series for series in runs if names(series)["unit"] == "ns"]
        frame = self._frame(change, since)
        times = self._times(change, since, own, frame)
        times |= {series: shown[series] for series in own if series in shown}
        base, head = times.pop(change.series, (None, None))
        if base is None or head is None:
            return None
        return MethodTimes(
            {name: keys[name] for name in PLACE},
            base,
            head,
            [(names(series), *both) for series, both in times.items()],
            (self._builds(change.base), self._builds(since)),
            frame,
        )

    def _times(
        self, change: LevelChange, since: Ints, series: Sequence[int], frame: float
    ) -> dict[int, tuple[float | None, float | None]]:
        """The times of a method's parts before and since its change.

        They are of the mode of the base and of the method's frame, so that they lead from one to
        the other.
        """
        found: dict[int, tuple[float | None, float | None]] = {}
        shifts = self._shifts([_raw(change, each) for each in series], since)
        for each, shift in zip(series, shifts, strict=True):
            base, head = (self._level(each, nights) for nights in (change.base, since))
            if base is not None and head is not None:
                head = base * float(np.exp(shift))
            found[each] = base, head and head * frame
        return found

    def _frame(self, change: LevelChange, since: Ints) -> float:
        """What takes the state of the device since a method's change out of times."""
        own, raw = self._shifts([change, _raw(change, change.series)], since)
        return float(np.nan_to_num(np.exp(own - raw), nan=1.0))

    def _shifts(self, changes: Sequence[LevelChange], since: Ints) -> list[float]:
        pairs = [(change, change.base, since) for change in changes]
        shifts: list[float] = compare_builds(self._night.fleet.history, pairs).shift.tolist()
        return shifts

    def _level(self, series: int, nights: Ints) -> float | None:
        """The median of a series' dumps in some nights; None if there is none."""
        values = self._night.fleet.history.values_in(series, nights)
        return float(np.exp(np.median(values))) if len(values) else None

    def _builds(self, nights: Iterable[int]) -> list[str]:
        return list(dict.fromkeys(self._night.fleet.nights[int(n)].build for n in nights))


def _raw(change: LevelChange, series: int) -> LevelChange:
    """A change of a series by values with the state of the device."""
    return replace(change, series=series, is_residual=False)
