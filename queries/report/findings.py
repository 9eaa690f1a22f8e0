"""Findings about all series of a head other than changes: coverage, shifts, new operators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tracehouse.queries.report.content import Missing, OperatorChange, RunShift, Sensitivity
from tracehouse.queries.report.facts import Family
from tracehouse.queries.report.parts import ModelPart
from tracehouse.queries.report.sensitivity import (
    Measurement,
    PartNight,
    measure_part,
    part_sensitivity,
    without_values,
)
from tracehouse.warehouse.regressions.changes import SeriesVerdict, number_builds
from tracehouse.warehouse.regressions.fleet import Fleet, find_families
from tracehouse.warehouse.regressions.nightly import Rules, Status
from tracehouse.warehouse.statistics.arrays import Floats, Mask
from tracehouse.warehouse.statistics.device_states import MAD_TO_SD
from tracehouse.warehouse.statistics.two_samples import row_median

_LEAST_SHIFT = 0.03
_SHIFT_GATE = 3.5


@dataclass(frozen=True)
class Findings:
    """Findings about some families; see the same names in `Report` and `Coverage`.

    Attributes:
        families: The families with dumps of the head.
        series_count: Number of their operators in the head.
        verdict_counts: Number of operators by the night's verdict.
        before: Numbers of the earlier nights with dumps of `families`.
        missing: Recordings of the builds of a base that the head lacks.
        run_shifts: The shift of each family in the head's last night.
        operator_changes: Operators that only one of the head and the previous build has.
        sensitivity: The sensitivity of each model.
        measured: The values that budgets limit; none without budgets.
        relative_devices: Devices on which times are relative to a reference build.
    """

    families: list[Family]
    series_count: int
    verdict_counts: Counter[str]
    before: set[int]
    missing: list[Missing]
    run_shifts: list[RunShift]
    operator_changes: list[OperatorChange]
    sensitivity: list[Sensitivity]
    measured: list[Measurement]
    relative_devices: set[str]

    def base(self, builds: Sequence[str], size: int, bad: Collection[str] = ()) -> list[str]:
        """The earlier builds, newest first, as many as in a base.

        Builds since the first of `bad` are left out, unless that is older than a base.
        """
        before = [builds[number] for number in sorted(self.before, reverse=True)]
        before = list(dict.fromkeys(before))
        lately = [number for number, build in enumerate(before[:size]) if build in bad]
        start = max(lately, default=-1) + 1
        return before[start : start + size]


def find_in_part(night: PartNight, dumps: Mapping[Family, int]) -> Findings:
    """The findings about a part of a fleet; `dumps` counts the head's dumps by family."""
    view = _PartView(night)
    has_reference = np.flatnonzero(night.fleet.has_reference)
    devices = night.fleet.keys["device"].take(pa.array(has_reference)).unique().to_pylist()
    return Findings(
        view.families,
        int(view.is_there.sum()),
        view.count_verdicts(),
        view.before,
        view.missing(),
        view.run_shifts(),
        view.operator_changes(),
        part_sensitivity(night, dumps),
        list(measure_part(night)) if night.settings.budgets else [],
        {device for device in devices if device is not None},
    )


def join_findings(parts: Sequence[Findings], dumps: Mapping[Family, int], rules: Rules) -> Findings:
    """The findings about all parts; families of which no dump has values are added."""

    def join(name: str) -> list[Any]:
        return [row for part in parts for row in getattr(part, name)]

    sensitivity = join("sensitivity")
    absent = dumps.keys() - set(map(_family, sensitivity))
    sensitivity += [without_values(family, dumps[family], rules) for family in absent]
    return Findings(
        join("families"),
        sum(part.series_count for part in parts),
        sum((part.verdict_counts for part in parts), Counter[str]()),
        set(join("before")),
        sorted(join("missing"), key=_place),
        sorted(join("run_shifts"), key=_place),
        sorted(join("operator_changes"), key=_place),
        sorted(sensitivity, key=_place),
        sorted(join("measured"), key=lambda row: row.family.sort_key()),
        set(join("relative_devices")),
    )


def _family(row: ModelPart) -> Family:
    return Family(row.device, row.model, row.backend)


def _place(row: ModelPart) -> tuple[str, str, str]:
    return _family(row).sort_key()


class _PartView:
    """The head's own nights in a part, by family and series.

    Attributes:
        families: The families with dumps of the head.
        is_there: Whether each series is an operator with dumps of the head.
        before: Numbers of the earlier nights with dumps of `families`.
    """

    def __init__(self, night: PartNight) -> None:
        self._night = night
        counts = night.replay.cells.dump_count
        own = night.is_own
        self._is_operator = ~(night.fleet.is_pool | night.fleet.is_measure)
        self.is_there: Mask = (counts[:, own].sum(axis=1) > 0) & self._is_operator
        family = night.fleet.history.series.family
        there = find_families(family, (counts > 0) & ~night.fleet.is_measure[:, None])
        self._own = own
        before = np.flatnonzero(~own)
        self._families = _list_families(night.fleet)
        self._family_there = there[: len(self._families)]
        self._heads: Mask = np.any(self._family_there[:, own], axis=1)
        self.families = [self._families[number] for number in np.flatnonzero(self._heads).tolist()]
        used = self._family_there[self._heads][:, before].any(axis=0)
        self.before: set[int] = set(before[used].tolist())
        number = np.array(number_builds([each.build for each in night.fleet.nights]))
        self._lately = before[number[before] >= number[-1] - night.rules.base_builds]

    def count_verdicts(self) -> Counter[str]:
        """Numbers of the head's operators by the night's verdict."""
        counts = Counter(self._night.replay.night.status[self.is_there].tolist())
        names = {status: status.name.lower() for status in Status} | {Status.HIT: "suspect"}
        return Counter({names[Status(status)]: count for status, count in counts.items()})

    def missing(self) -> list[Missing]:
        """Recordings of the builds of a base that the head lacks."""
        missing = []
        nights = self._night.fleet.nights
        for number in np.flatnonzero(~self._heads).tolist():
            before = self._lately[self._family_there[number, self._lately]]
            if len(before):
                last = nights[int(before[-1])].build
                family = self._families[number]._asdict()
                missing.append(Missing(**family, last_build=last, is_expected=False))
        return missing

    def run_shifts(self) -> list[RunShift]:
        """The shift of each family in the head's last night."""
        shifts = self._night.replay.shifts
        last = int(np.flatnonzero(self._own)[-1])
        there = self._family_there[:, :last]
        back = np.cumsum(there[:, ::-1], axis=1)[:, ::-1]  # 1 for a family's last night, ...
        is_base = there & (back <= self._night.rules.base_builds)
        before = np.where(is_base, shifts[: len(there), :last], np.nan)
        usual, count = row_median(before), is_base.sum(axis=1)
        spread = MAD_TO_SD * row_median(np.abs(before - usual[:, None]))
        limit = np.fmax(_LEAST_SHIFT, _SHIFT_GATE * spread * np.sqrt(1 + 1 / np.maximum(count, 1)))
        shift = np.expm1(shifts[: len(there), last] - usual)
        chosen = np.flatnonzero(self._family_there[:, last] & (count > 0))
        return [
            RunShift(
                **self._families[number]._asdict(),
                shift=float(shift[number]),
                limit=float(limit[number]),
                is_notable=bool(abs(shift[number]) > limit[number]),
            )
            for number in chosen.tolist()
        ]

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
            if was != bool(self.is_there[series]):
                nights = [before[number], last]
                builds = fleet.nights[before[number]].build, self._night.head
                keys = fleet.name(series)
                found.append(describe_edit(keys, cells.median[series, nights], builds))
        return found


def describe_edit(
    keys: Mapping[str, Any], levels: Floats, builds: tuple[str, str]
) -> OperatorChange:
    """An operator that only one of two builds has; `levels` are its logarithms in both, or NaN."""
    is_new = bool(np.isnan(levels[0]))
    verdict = SeriesVerdict.NEW_OP if is_new else SeriesVerdict.REMOVED_OP
    cost = float(np.exp(levels[1])) if is_new else -float(np.exp(levels[0]))
    return OperatorChange.of(
        keys,
        change=verdict,
        cost_ns=cost if keys["unit"] == "ns" else None,
        detail=verdict.detail.format(base=builds[0], head=builds[1]),
    )


def _list_families(fleet: Fleet) -> list[Family]:
    """The families in order of their numbers; those of pools, the last ones, are left out."""
    _, first = np.unique(fleet.history.series.family, return_index=True)
    keys = fleet.keys.select(Family._fields).take(pa.array(first)).to_pylist()
    return [Family(**row) for row in keys if row["device"] is not None]
