"""The breakdowns of the methods that an alert of a night shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from queries.report.breakdown import PLACE, Breakdown, Framework, Work, break_down
from queries.report.content import Member
from queries.report.members import changed_nights
from queries.report.night import HeadNight
from warehouse.queryable import Queryable
from warehouse.regressions.level_changes import LevelChange
from warehouse.regressions.parts import same_run
from warehouse.statistics.arrays import Ints


class NightBreakdowns:
    """Makes the breakdowns of one night."""

    def __init__(self, store: Queryable, night: HeadNight) -> None:
        self._framework, self._night = Framework(store), night

    def of(self, changes: Sequence[LevelChange], members: Sequence[Member]) -> list[Breakdown]:
        """The breakdown of each method among the members, which are those of the changes."""
        shown = {change.series: member for change, member in zip(changes, members, strict=True)}
        return [
            self._break_down(change, (member.base_ns, member.head_ns), shown)
            for change, member in zip(changes, members, strict=True)
            if member.kind == "method" and member.device is not None
            if member.base_ns is not None and member.head_ns is not None
        ]

    def _break_down(
        self, change: LevelChange, method: tuple[float, float], shown: dict[int, Member]
    ) -> Breakdown:
        night, since = self._night, changed_nights(self._night, change)
        keys = night.fleet.name(change.series)
        # The device's state is left out of the method's change, so it is of the operators, too.
        seen = self._level(change.series, since)
        frame = method[1] / seen if seen else 1.0
        works = []
        for series in same_run(night.fleet, change.series).tolist():
            own = night.fleet.name(series)
            if series in shown and shown[series].base_ns is not None:
                work = Work(own, shown[series].base_ns, shown[series].head_ns)
            else:
                head = self._level(series, since)
                work = Work(own, self._level(series, change.base), head and head * frame)
            if work.base_ns is not None or work.head_ns is not None:
                works.append(work)
        place = {name: keys[name] for name in PLACE}
        found = self._framework.times(place, [self._builds(change.base), self._builds(since)])
        framework = found and (found[0], found[1] * frame)
        return break_down(place, method, works, framework)

    def _level(self, series: int, nights: Ints) -> float | None:
        """The median of a series' dumps in some nights; None if there is none."""
        values = self._night.fleet.history.values_in(series, nights)
        return float(np.exp(np.median(values))) if len(values) else None

    def _builds(self, nights: Iterable[int]) -> list[str]:
        return list(dict.fromkeys(self._night.fleet.nights[int(n)].build for n in nights))
