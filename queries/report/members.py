"""The series of a group with their numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tracehouse.queries.report.content import BuildPoint, EnvironmentChange, Member
from tracehouse.queries.report.environment import Environments, Family, Recording
from tracehouse.queries.report.figures import count_text
from tracehouse.queries.report.night import SERIES, HeadNight
from tracehouse.warehouse.regressions.changes import LevelChange, compare_builds
from tracehouse.warehouse.regressions.fleet import SeriesHistory
from tracehouse.warehouse.regressions.series_values import COUNTED
from tracehouse.warehouse.statistics.arrays import Floats, Ints
from tracehouse.warehouse.statistics.two_samples import SampleComparison


def describe_members(night: HeadNight, changes: Sequence[LevelChange]) -> list[Member]:
    """The series that changed: the builds of their bases against those since the change."""
    since = [changed_nights(night, change) for change in changes]
    pairs = [(change, change.base, nights) for change, nights in zip(changes, since, strict=True)]
    found = compare_builds(night.fleet.history, pairs)
    return [
        _describe(night, change, nights, found, row)
        for row, (change, _, nights) in enumerate(pairs)
    ]


def _describe(
    night: HeadNight, change: LevelChange, since: Ints, figures: SampleComparison, row: int
) -> Member:
    history, series = night.fleet.history, change.series
    keys = night.fleet.name(series)
    base = history.values_in(series, change.base)
    head = history.values_in(series, since[-1:])
    is_time = keys["unit"] == "ns" and keys["kind"] not in COUNTED
    has_interval = not math.isnan(figures.low[row])
    delta = math.expm1(figures.shift[row])
    # Of the mode and frame of the change, so that it leads from the base to the head.
    base_ns = float(np.exp(np.median(base))) if is_time else None
    head_ns = None if base_ns is None else base_ns * (1 + delta)
    return Member.of(
        keys,
        module_path=night.modules.get(tuple(keys[name] for name in SERIES)),
        delta=delta,
        delta_low=math.expm1(figures.low[row]) if has_interval else None,
        delta_high=math.expm1(figures.high[row]) if has_interval else None,
        p_adjusted=change.p_adjusted,
        base_ns=base_ns,
        head_ns=head_ns,
        cost_ns=None if base_ns is None or head_ns is None else head_ns - base_ns,
        base_values=np.exp(base).tolist(),
        head_values=np.exp(head).tolist(),
        history=_history(night, series, float(figures.split[row]), is_time=is_time),
        speeds=_speeds(night, change, len(base), since, figures, row),
        rule=_rule(night, change, len(base), since, is_centred=bool(figures.is_centred[row])),
    )


def _speeds(
    night: HeadNight,
    change: LevelChange,
    base_count: int,
    since: Ints,
    figures: SampleComparison,
    row: int,
) -> tuple[int, int, int, int] | None:
    """Dumps at the slower of two speeds and all, in the base and since; None with one speed."""
    if math.isnan(figures.split[row]):
        return None
    head_count = int(night.cells.dump_count[change.series, since].sum())
    base_slow, head_slow = figures.base_slow[row], figures.head_slow[row]
    return round(base_slow * base_count), base_count, round(head_slow * head_count), head_count


def list_methods(night: HeadNight) -> dict[tuple[int, str], int]:
    """The series of each method, by its family and the name of its runs."""
    kinds, runs = (night.fleet.keys[name].to_pylist() for name in ("kind", "run"))
    family = night.fleet.history.series.family.tolist()
    return {(family[row], runs[row]): row for row, kind in enumerate(kinds) if kind == "method"}


def method_level_ns(
    night: HeadNight, methods: Mapping[tuple[int, str], int], change: LevelChange
) -> float | None:
    """The time of a changed series' method in the nights of its base; None if unknown."""
    keys, family = night.fleet.name(change.series), night.fleet.history.series.family
    row = methods.get((int(family[change.series]), keys["run"]))
    if row is None or keys["unit"] != "ns" or keys["device"] is None:
        return None
    levels = night.cells.median[row, change.base]
    known = levels[np.isfinite(levels)]
    return float(np.exp(np.median(known))) if len(known) else None


def changed_nights(night: HeadNight, change: LevelChange) -> Ints:
    """The nights of a series at its new level."""
    return change.list_nights(night.cells.dump_count[change.series])


def changed_environment(
    environments: Environments, night: HeadNight, change: LevelChange
) -> list[EnvironmentChange]:
    """Changes of the environment between the dumps of a change and earlier ones."""
    fleet = night.fleet
    keys, nights, sessions = fleet.name(change.series), fleet.nights, fleet.sessions
    since = np.setdiff1d(changed_nights(night, change), change.back)
    family = Family.of(keys)
    base, head = (
        [
            Recording(nights[number].build, sessions.get((*family, number), ""))
            for number in each.tolist()
        ]
        for each in (change.base, since)
    )
    has_reference = bool(fleet.has_reference[change.series])
    return environments.changes(family, base, head, has_reference=has_reference)


def _history(night: HeadNight, series: int, split: float, *, is_time: bool) -> list[BuildPoint]:
    """The builds of a series; by speed, too, if `split` tells two speeds from each other."""
    cells = night.cells
    p10, p90 = (_values_at(night.fleet.history, series, share) for share in (0.1, 0.9))
    points = []
    for number, recording in enumerate(night.fleet.nights):
        count = int(cells.dump_count[series, number])
        if count:
            median = float(np.exp(cells.median[series, number]))
            own: dict[str, Any] = (
                {"median_ns": median} if is_time else {"median_ns": None, "median": median}
            )
            edges = (p10[number], p90[number]) if count > 1 else (None, None)
            own |= dict(zip(("p10", "p90"), edges, strict=True))
            if not math.isnan(split):
                own |= _at_speeds(night.fleet.history.values_in(series, np.array([number])), split)
            points.append(BuildPoint(build=recording.build, dump_count=count, **own))
    return points


def _at_speeds(values: Floats, split: float) -> dict[str, Any]:
    """The medians of a build's dumps at the faster and at the slower speed."""
    is_slow = values > split
    sides = {"fast": values[~is_slow], "slow": values[is_slow]}
    medians = {
        name: float(np.exp(np.median(own))) if len(own) else None for name, own in sides.items()
    }
    return {**medians, "slow_count": int(is_slow.sum())}


def _values_at(history: SeriesHistory, series: int, share: float) -> list[float]:
    """A percentile of a series' values in each build; anything in builds without values."""
    start = history.start[series * history.build_count :][: history.build_count + 1]
    place = start[:-1] + share * np.maximum(np.diff(start) - 1, 0)  # a cell's values are sorted
    below = np.minimum(place.astype(int), len(history.values) - 1)
    above = np.minimum(below + 1, len(history.values) - 1)
    low, high = history.values[below], history.values[above]
    found: list[float] = np.exp(low + (place - below) * (high - low)).tolist()
    return found


def _rule(
    night: HeadNight, change: LevelChange, base_dumps: int, since: Ints, *, is_centred: bool
) -> str:
    dumps = int(night.cells.dump_count[change.series, since].sum())
    new, old = (count_text(len(builds), "build") for builds in (since, change.base))
    parts = [
        f"{dumps} dumps of {new} against {base_dumps} of {old}",
        f"p = {change.p_adjusted:.2g} in its first night, {night.rules.q:g} allowed",
    ]
    if change.pool is not None:
        parts.append(_pool_text(night, change, change.pool))
    if change.is_residual:
        parts.append("without the state of the device in each dump")
    if is_centred:
        parts.append("modes of the process compared each with its own")
    if change.is_relative:
        parts.append("relative to the reference build")
    if change.confirmed is not None:
        parts.append(f"confirmed by {night.fleet.nights[change.confirmed].build}")
    return "; ".join(parts)


def _pool_text(night: HeadNight, change: LevelChange, pool: int) -> str:
    fleet, counts = night.fleet, night.cells.dump_count
    last = changed_nights(night, change)[-1]
    devices = np.count_nonzero(counts[fleet.pool == pool, last])
    shift = math.expm1(change.pool_shift)
    name = fleet.keys["pool"][pool].as_py()
    return f"shown by the {devices} devices of pool {name} together: {shift:+.1%}"
