"""How small a change can be seen, and where none can; and values of measures of whole dumps."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import lru_cache, partial
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.queries.report.content import ALL_MUTED, BuildPoint, Member, Sensitivity
from tracehouse.queries.report.facts import Family, measure_name
from tracehouse.queries.report.figures import change_text, count_text, operator_text
from tracehouse.queries.report.settings import Settings, in_base_unit
from tracehouse.warehouse.regressions.fleet import Fleet, SeriesHistory
from tracehouse.warehouse.regressions.nightly import Rules, Status
from tracehouse.warehouse.regressions.replay import Replay
from tracehouse.warehouse.regressions.series_values import (
    CONTAINERS,
    COUNTED,
    MEASURES,
    RATES,
    name_rows,
)
from tracehouse.warehouse.statistics.arrays import Floats, Ints, Mask
from tracehouse.warehouse.statistics.two_samples import LEAST_DUMPS, least_p

_METHOD = "method"
_RANK_EFFICIENCY = 1.05  # ratio of the standard errors of a Mann-Whitney test and a t test
_MOST_DUMPS = 1000
BLIND_CHANGE = 0.10  # a model is blind if a larger typical change could hide
BLIND_EXPLAINED_SHARE = 0.5  # share of judged operators whose changes the shift of the run explains


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
            "base_values": _show_values(member.base_values, is_rate=is_rate),
            "head_values": _show_values(member.head_values, is_rate=is_rate),
            "history": [_show_point(point, is_rate=is_rate) for point in member.history],
        }
    )


def _inverse_share(share: float | None) -> float | None:
    return None if share is None else 1 / (1 + share) - 1


def _show_values(values: list[float], *, is_rate: bool) -> list[float]:
    return sorted(1 / value for value in values) if is_rate else values


def _show_point(point: BuildPoint, *, is_rate: bool) -> BuildPoint:
    if point.median is None or not is_rate:
        return point
    low, high = (None if edge is None else 1 / edge for edge in (point.p90, point.p10))
    speeds = {
        name: None if value is None else 1 / value
        for name, value in (("fast", point.fast), ("slow", point.slow))
    }
    return point.model_copy(update={"median": 1 / point.median, "p10": low, "p90": high, **speeds})


def smallest_changes(history: SeriesHistory, found: Replay, rules: Rules) -> Floats:
    """The smallest change of each series that the last night would show, a logarithm.

    This is the largest of three limits, from the conditions of a hit: the smallest relevant change,
    the noise multiple of the usual error of builds, and the limit of the test for the number and
    spread of the dumps. A series whose movement was explained by the shift of its family hides at
    least that movement. Infinite if the series was not judged.
    """
    night, base = found.night, found.night.base
    judged = night.status >= Status.UNCHANGED
    head = np.maximum(found.cells.dump_count[:, -1], 1)
    family = history.series.family
    rivals = np.bincount(family[judged], minlength=history.family_count)[family]
    least = np.maximum(
        np.log1p(history.series.min_change), np.log1p(history.series.half_tick / np.exp(base.raw))
    )
    per_dump = np.sqrt(1 / head + 1 / np.maximum(base.dumps, 1)) * base.dump_spread
    by_test = _RANK_EFFICIENCY * _quantiles(rules.q, rivals) * per_dump
    smallest = np.fmax(np.fmax(least, by_test), rules.noise_multiple * base.error)
    moved = np.abs(found.cells.median[:, -1] - base.raw)
    explained = night.status == Status.EXPLAINED_BY_RUN_SHIFT
    smallest = np.where(explained, np.fmax(smallest, moved), smallest)
    is_known = judged & ~np.isnan(base.error)
    return np.where(is_known, smallest, np.inf)


def _quantiles(q: float, tests: Ints) -> Floats:
    """Least significant difference in standard errors, for each number of tests."""
    counts, place = np.unique(np.maximum(tests, 1), return_inverse=True)
    wanted = [-NormalDist().inv_cdf(q / 2 / count) for count in counts.tolist()]
    return np.array(wanted)[place]


class ModelCounts(NamedTuple):
    """Counts of a model on a device in a night.

    Attributes:
        dump_count: Dumps of the head that the store has.
        status: The Status of each operator.
        builds: Number of builds in each operator's base.
        base_dumps: Number of dumps in each operator's base.
        head_dumps: Number of the head's dumps that count for each operator.
    """

    dump_count: int
    status: Ints
    builds: Ints
    base_dumps: Ints
    head_dumps: Ints


def list_missing(model: ModelCounts, rules: Rules) -> str:
    """Present and needed data: '4 dumps, 5 wanted; 1 build before it, 2 wanted'."""
    head = int(model.head_dumps.max(initial=0))
    if not head:
        dumps = count_text(model.dump_count, "dump")
        return f"{dumps}, none with 20 values of an operator after its first 5 runs"
    if (model.status == Status.BELOW_RESOLUTION).all():
        return "its operators are too short for their clock"
    builds = int(model.builds.max(initial=0))
    wanted = [*_list_dumps(model, head, rules), *_list_builds(builds, rules)]
    return "; ".join(wanted) or "no dumps in the last session of the head"


def _list_builds(builds: int, rules: Rules) -> list[str]:
    if builds >= rules.least_builds:
        return []
    return [f"{count_text(builds, 'build')} before it, {rules.least_builds} wanted"]


def _list_dumps(model: ModelCounts, head: int, rules: Rules) -> list[str]:
    base = int(model.base_dumps.max(initial=0))
    wanted = []
    needed = _head_dumps_needed(base, len(model.status), rules)
    if head < needed:
        wanted.append(f"{count_text(head, 'dump')}, {needed} wanted")
    if base < LEAST_DUMPS and model.builds.any():
        wanted.append(f"{count_text(base, 'dump')} before it, {LEAST_DUMPS} wanted")
    return wanted


@lru_cache
def _head_dumps_needed(base: int, series: int, rules: Rules) -> int:
    """Dumps of a head that can show a single change among so many operators."""
    least = rules.least_dumps if base >= rules.least_base_dumps else LEAST_DUMPS
    if base < LEAST_DUMPS:
        return least
    counts = np.arange(least, _MOST_DUMPS)
    enough = least_p(np.full(len(counts), base), counts) <= rules.q / series
    return int(counts[np.argmax(enough)])


class SeriesLimits(NamedTuple):
    """The smallest changes of a model's series that a report would show.

    Attributes:
        names: The operator of each series.
        smallest: The smallest change of each that the report would show, as a share; infinite
            where the series was not judged.
        time: The time of each series.
        is_explained: Whether the change was explained by the shift of the whole run.
        is_container: Whether the series only contains other operators.
    """

    names: Sequence[str]
    smallest: Floats
    time: Floats
    is_explained: Mask
    is_container: Mask


def describe_sensitivity(family: Family, limits: SeriesLimits, missing: str) -> Sensitivity:
    """The sensitivity of a model.

    `missing` are the data needed to judge the model, if it could not be judged.
    """
    smallest, judged = limits.smallest, np.isfinite(limits.smallest)
    counted = ~limits.is_container if (judged & ~limits.is_container).any() else judged
    explained = int((limits.is_explained & judged).sum())
    worst = int(np.argmax(np.where(judged, smallest, -1))) if judged.any() else None
    typical = _weighted_median(smallest[counted], limits.time[counted])
    is_blind = judged.any() and (
        typical is None
        or typical > BLIND_CHANGE
        or explained > BLIND_EXPLAINED_SHARE * int(judged.sum())
    )
    return Sensitivity(
        **family._asdict(),
        series_count=len(smallest),
        judged_count=int(judged.sum()),
        explained_count=explained,
        typical=typical,
        worst=None if worst is None else float(smallest[worst]),
        worst_operator=None if worst is None else limits.names[worst],
        is_blind=bool(is_blind),
        missing=missing if typical is None else None,
    )


def _weighted_median(values: Floats, weights: Floats) -> float | None:
    if not np.isfinite(values).any():
        return None
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    middle = float(values[order][np.searchsorted(reached, reached[-1] / 2)])
    return middle if math.isfinite(middle) else None


def part_sensitivity(night: PartNight, dumps: Mapping[Family, int]) -> list[Sensitivity]:
    """The sensitivity of each model in the head, without muted series."""
    latest, keys = night.replay.night, night.fleet.keys
    smallest = np.expm1(smallest_changes(night.fleet.history, night.replay, night.rules))
    own = night.is_own
    there = night.replay.cells.dump_count[:, own].max(axis=1, initial=0)
    level = np.nan_to_num(np.exp(night.replay.cells.median[:, own])).max(axis=1, initial=0)
    is_container = pc.is_in(keys["kind"], pa.array(CONTAINERS)).to_numpy()
    rows = _rows_of_families(night)
    names = name_rows(keys.select(["event_name", "delegate_id", "ordinal"]), operator_text)
    found = []
    for family, own_rows in rows.items():
        chosen = np.array([row for row in own_rows if there[row]], np.int64)
        if not len(chosen) and family not in dumps:
            continue
        limits = SeriesLimits(
            [names[row] for row in chosen.tolist()],
            smallest[chosen],
            level[chosen],
            latest.status[chosen] == Status.EXPLAINED_BY_RUN_SHIFT,
            is_container[chosen],
        )
        model = ModelCounts(
            dumps.get(family, 0),
            latest.status[chosen],
            latest.base.builds[chosen],
            latest.base.dumps[chosen],
            there[chosen],
        )
        missing = list_missing(model, night.rules) if own_rows else ALL_MUTED
        found.append(describe_sensitivity(family, limits, missing))
    return found


def without_values(family: Family, dumps: int, rules: Rules) -> Sensitivity:
    """The sensitivity of a model of which no dump of any build has values."""
    none, no_values = np.zeros(0, np.int64), np.zeros(0)
    is_none = np.zeros(0, bool)
    limits = SeriesLimits([], no_values, no_values, is_none, is_none)
    model = ModelCounts(dumps, none, none, none, none)
    return describe_sensitivity(family, limits, list_missing(model, rules))


def _rows_of_families(night: PartNight) -> Mapping[Family, list[int]]:
    """The operators of each model that are not muted: none if all of a model are."""
    names = ("device", "model", "backend", "event_name")
    is_measure = night.fleet.is_measure.tolist()
    rows: dict[Family, list[int]] = defaultdict(list)
    columns = (night.fleet.keys[name].to_pylist() for name in names)
    mute_reason = partial(night.settings.mute_reason, on=night.day)
    for row, (device, model, backend, event) in enumerate(zip(*columns, strict=True)):
        if device is not None and not is_measure[row]:
            unmuted = rows[Family(device, model, backend)]
            if mute_reason(device=device, model=model, event=event) is None:
                unmuted.append(row)
    return rows


class SensitivitySummary(NamedTuple):
    """Numbers of judged and blind models of the head, each by its worst device.

    Attributes:
        models: Models and backends.
        judged: Models with a judged operator on every device.
        blind: Models in which too large a change could hide on a device.
        typical: The largest typical change that could hide in a model; None without a limit.
        worst: The largest change that could hide in an operator; None if nothing was judged.
        explained: Operators whose change was explained by the shift of a whole run.
        operators: Judged operators.
    """

    models: int
    judged: int
    blind: int
    typical: float | None
    worst: float | None
    explained: int
    operators: int

    @classmethod
    def of(cls, rows: Sequence[Sensitivity]) -> SensitivitySummary:
        """The summary of a report's models."""
        models: dict[tuple[str, str | None], list[Sensitivity]] = defaultdict(list)
        for row in rows:
            models[row.model, row.backend].append(row)
        judged = [row for row in rows if row.judged_count]
        typical = [row.typical for row in judged]
        return cls(
            len(models),
            sum(all(row.judged_count for row in own) for own in models.values()),
            sum(any(row.is_blind for row in own) for own in models.values()),
            None if None in typical else max((t for t in typical if t is not None), default=None),
            max((row.worst for row in judged if row.worst is not None), default=None),
            sum(row.explained_count for row in rows),
            sum(row.judged_count for row in rows),
        )

    def share(self, models: int) -> str:
        """A number of the models, in words."""
        return f"{models:,} of {count_text(self.models, 'program')}"

    @property
    def reach(self) -> str:
        """The part of the models to which the verdict applies, if not all."""
        return "" if self.judged == self.models else f" on {self.share(self.judged)}"

    @property
    def limits(self) -> str:
        """The changes that could hide, typically and at worst."""
        typical = "any size" if self.typical is None else change_text(self.typical)
        worst = "" if self.worst is None else f", at worst of {change_text(self.worst)}"
        return f"changes of {typical} could hide{worst}"


def sensitivity_text(row: Sensitivity) -> str:
    """The change that could hide in a model, or the data needed to judge it."""
    if row.missing is not None:
        return row.missing
    explained = f", {row.explained_count:,} explained by the shift of the run"
    return (
        f"{SensitivitySummary.of([row]).limits}; {row.judged_count:,} of {row.series_count:,} "
        "series judged"
        f"{explained if row.explained_count else ''}"
    )
