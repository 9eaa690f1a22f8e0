"""A night's findings about its head other than alerts: coverage, shifts, new operators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np

from queries.report.content import Coverage, Missing, OperatorChange, RunShift, Sensitivity
from queries.report.environment import Family
from queries.report.measures import as_measure
from queries.report.members import describe_members
from queries.report.night import HeadNight
from queries.report.verdicts import SeriesVerdict
from warehouse.regressions.history import find_families
from warehouse.regressions.level_changes import LevelChange
from warehouse.regressions.nightly import Status
from warehouse.statistics.arrays import Mask
from warehouse.statistics.device_states import MAD_TO_SD

_LEAST_SHIFT = 0.03
_SHIFT_GATE = 3.5


class HeadView:
    """The head's own nights, by family and series."""

    def __init__(self, night: HeadNight) -> None:
        self._night = night
        nights, counts = night.fleet.nights, night.replay.cells.dump_count
        own = night.is_own
        self._is_operator = ~(night.fleet.is_pool | night.fleet.is_measure)
        self._there = (counts[:, own].sum(axis=1) > 0) & self._is_operator
        family = night.fleet.history.series.family
        there = find_families(family, (counts > 0) & ~night.fleet.is_measure[:, None])
        self._own = own
        before = np.flatnonzero(~own)
        self._families = _list_families(night)
        self._family_there = there[: len(self._families)]
        self._heads: Mask = np.any(self._family_there[:, own], axis=1)
        used = before[self._family_there[self._heads][:, before].any(axis=0)]
        builds = [nights[number].build for number in used[::-1].tolist()]
        self._before: list[str] = list(dict.fromkeys(builds))
        self._lately = before[-night.rules.base_builds :]

    def base(self, bad: Collection[str] = ()) -> list[str]:
        """The earlier builds, newest first, as many as in a base.

        Args:
            bad: First builds of open changes; later builds are left out, unless the change is older
                than a base.
        """
        size = self._night.rules.base_builds
        lately = [number for number, build in enumerate(self._before[:size]) if build in bad]
        start = max(lately, default=-1) + 1
        return self._before[start : start + size]

    def count_verdicts(self) -> dict[str, int]:
        """Numbers of series by the night's verdict."""
        counts = Counter(self._night.replay.night.status[self._is_operator].tolist())
        names = {status: status.name.lower() for status in Status} | {Status.HIT: "suspect"}
        return {names[Status(status)]: count for status, count in counts.items()}

    def missing(self) -> list[Missing]:
        """Recordings of the builds of a base that the head lacks."""
        missing = []
        nights = self._night.fleet.nights
        for number, family in enumerate(self._families):
            before = self._lately[self._family_there[number, self._lately]]
            if not self._heads[number] and len(before):
                last = nights[int(before[-1])].build
                row = Missing(**family._asdict(), last_build=last, is_expected=False)
                missing.append(row)
        return missing

    def coverage(
        self, dump_count: int, sensitivity: Sequence[Sensitivity], missing: list[Missing]
    ) -> Coverage:
        """The recordings of the head, and missing ones."""
        there = [own for own, is_there in zip(self._families, self._heads, strict=True) if is_there]
        return Coverage(
            device_count=len({family.device for family in there}),
            model_count=len({(family.model, family.backend) for family in there}),
            dump_count=dump_count,
            series_count=int(self._there.sum()),
            judged_count=sum(row.judged_count for row in sensitivity),
            missing=missing,
            too_few=[
                f"{Family.of(dict(row))}: {row.missing}"
                for row in sensitivity
                if row.missing is not None
            ],
        )

    def run_shifts(self) -> list[RunShift]:
        """The shift of each family in the head's last night."""
        shifts = self._night.replay.shifts
        last = int(np.flatnonzero(self._own)[-1])
        found = []
        for number, family in enumerate(self._families):
            there = np.flatnonzero(self._family_there[number, :last])
            before = shifts[number, there[-self._night.rules.base_builds :]]
            if not self._family_there[number, last] or not len(before):
                continue
            usual = float(np.median(before))
            spread = MAD_TO_SD * float(np.median(np.abs(before - usual)))
            limit = max(_LEAST_SHIFT, _SHIFT_GATE * spread * float(np.sqrt(1 + 1 / len(before))))
            shift = float(np.expm1(shifts[number, last] - usual))
            is_notable = abs(shift) > limit
            found.append(
                RunShift(**family._asdict(), shift=shift, limit=limit, is_notable=is_notable)
            )
        return found

    def operator_changes(self) -> list[OperatorChange]:
        """Operators that only one of the head and the previous build has."""
        fleet, cells = self._night.fleet, self._night.replay.cells
        family = fleet.history.series.family
        last = int(np.flatnonzero(self._own)[-1])
        before: dict[int, int] = {}
        for number in range(len(self._families)):
            there = np.flatnonzero(self._family_there[number, :last] & ~self._own[:last])
            if len(there) and self._family_there[number, last]:
                before[number] = int(there[-1])
        found = []
        for series, number in enumerate(family.tolist()):
            if number not in before or not self._is_operator[series]:
                continue
            was = bool(cells.dump_count[series, before[number]])
            if was != bool(self._there[series]):
                found.append(self._operator_change(series, before[number], last, was=was))
        return found + [
            self._moved(change)
            for change in self._night.moved
            if change.first_bad > last - self._night.rules.base_builds
        ]

    def _moved(self, change: LevelChange) -> OperatorChange:
        (member,) = map(as_measure, describe_members(self._night, [change]))
        build = self._night.fleet.nights[change.first_bad].build
        return OperatorChange.of(
            dict(member),
            change=SeriesVerdict.MOVED,
            device=member.device or "",
            detail=f"{member.delta or 0:+.1%} since {build}, which has other operators in it",
        )

    def _operator_change(self, series: int, before: int, last: int, *, was: bool) -> OperatorChange:
        fleet, cells = self._night.fleet, self._night.replay.cells
        keys = fleet.name(series)
        level = cells.median[series, before if was else last]
        base = fleet.nights[before].build
        return OperatorChange.of(
            keys,
            change=SeriesVerdict.REMOVED_OP if was else SeriesVerdict.NEW_OP,
            cost_ns=(-1 if was else 1) * float(np.exp(level)) if keys["unit"] == "ns" else None,
            detail=f"in {base}, not in {self._night.head}" if was else f"not in {base}",
        )


def _list_families(night: HeadNight) -> list[Family]:
    """The families in order of their numbers; those of pools, the last ones, are left out."""
    found: dict[int, Family] = {}
    numbers = night.fleet.history.series.family.tolist()
    for number, keys in zip(
        numbers, night.fleet.keys.select(Family._fields).to_pylist(), strict=True
    ):
        if keys["device"] is not None:
            found.setdefault(number, Family(**keys))
    return [found[number] for number in range(len(found))]
