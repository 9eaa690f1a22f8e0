"""Measures without noise over builds, and their changes: any difference counts. Pure.

A measure is compared with its value in the last earlier build that has data. Builds whose dumps
disagree on the measure are skipped, because there it is not exact.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.warehouse.regressions.changes import (
    ChangeGroup,
    LevelChange,
    hash_id,
    number_repeated_ids,
)
from tracehouse.warehouse.regressions.series_values import number_rows

MEMORY = "allocated_bytes"
_SHARE = "delegated_share"
_CALLS = ("delegate_call_count", "delegate_calls")
_COUNT_OF = {"operator_calls": "operator_count", "delegate_calls": "delegate_call_count"}
_COUNTS = set(_COUNT_OF.values())
_OWN = {"program_bytes", MEMORY, _SHARE, *_CALLS, "operator_count", "operator_calls"}
# Properties of the recording, not of the program.
_OF_RECORDING = {"runs_per_dump", "dump_bytes"}
_FEWEST_STATING = (
    5  # dumps whose manifests agree on a figure, which then is not a noisy measurement
)
_KEY = ("device", "model", "backend", "measure", "run_name", "allocator")

_Family = tuple[str, str, str | None]


class ExactPoint(NamedTuple):
    """A measure in a build: the build's number, the count of dumps, lowest and highest value."""

    build: int
    dump_count: int
    low: float
    high: float


class ExactSeries(NamedTuple):
    """A measure of a model on a device, and its points, oldest first.

    Attributes:
        device: Name of the device.
        model: Name of the model.
        backend: Backend of the model; None without one.
        measure: Name of the measure.
        run_name: Name of the measured runs; None for measures of the whole dump.
        allocator: Allocator of the bytes, if any.
        points: Builds with dumps of the measure.
    """

    device: str
    model: str
    backend: str | None
    measure: str
    run_name: str | None
    allocator: str | None
    points: tuple[ExactPoint, ...]

    @property
    def key(self) -> tuple[str | None, ...]:
        """The identity of the measure."""
        return (*self.family, self.measure, self.run_name, self.allocator)

    @property
    def family(self) -> _Family:
        """Device, model and backend."""
        return self.device, self.model, self.backend

    def value(self, build: int) -> float:
        """The value in a build whose dumps agree; KeyError for other builds."""
        return {point.build: point.low for point in self.points}[build]


class ExactHistory(NamedTuple):
    """Measures of a build and of earlier builds, and their changes.

    Attributes:
        builds: Names, oldest first, the head last.
        series: The measures.
        changes: Changes of the measures, in order of the builds; all are confirmed immediately.
        groups: The changes in groups.
    """

    builds: tuple[str, ...]
    series: tuple[ExactSeries, ...]
    changes: tuple[LevelChange, ...]
    groups: tuple[ChangeGroup, ...]

    def of(self, change: LevelChange) -> ExactSeries:
        """The measure that changed."""
        return self.series[change.series]


def judge_exact(rows: pa.Table, head: str, base_builds: int) -> ExactHistory:
    """Find the changes in rows of the statement exact_values.

    Args:
        rows: A row per measure and build.
        head: The judged build, which is the last one even without rows.
        base_builds: Builds within which losing an improvement again is not a regression.
    """
    distances = dict(zip(rows["build"].to_pylist(), rows["distance"].to_pylist(), strict=True))
    before = sorted((name for name in distances if name != head), key=lambda name: -distances[name])
    builds = (*before, head)
    numbers = {name: number for number, name in enumerate(builds)}
    series = _list_series(_without_constants(rows), numbers)
    beside: dict[tuple[_Family, str | None], dict[str, ExactSeries]] = defaultdict(dict)
    for each in series:
        beside[each.family, each.run_name][each.measure] = each
    changes = [
        change
        for number, each in enumerate(series)
        for change in _without_returns(
            _find_changes(number, each, beside[each.family, each.run_name]), each, base_builds
        )
    ]
    changes = _without_calls(changes, series)
    groups = _group_changes(changes, series)
    return ExactHistory(builds, tuple(series), tuple(changes), tuple(groups))


def _group_changes(
    changes: Sequence[LevelChange], series: Sequence[ExactSeries]
) -> list[ChangeGroup]:
    """The changes of each model in groups that one build between good and bad may have caused."""
    clusters: dict[tuple[str, int], list[list[LevelChange]]] = defaultdict(list)
    for change in sorted(changes, key=lambda change: (change.first_bad, change.series)):
        own = clusters[series[change.series].model, change.direction]
        if not own or change.last_good >= own[-1][0].first_bad:
            own.append([])
        own[-1].append(change)
    groups = [_make_group(each, series) for own in clusters.values() for each in own]
    groups.sort(key=lambda group: (group.first_bad, group.operators, group.direction))
    return number_repeated_ids(groups)


def _make_group(cluster: Sequence[LevelChange], series: Sequence[ExactSeries]) -> ChangeGroup:
    """A group whose id names its measures and their new values.

    So a decision holds for these alone: a measure that joins later is a group without a decision.
    """
    changes = tuple(sorted(cluster, key=lambda change: change.series))
    names = [
        (*series[each.series].key, series[each.series].value(each.first_bad)) for each in changes
    ]
    direction = changes[0].direction
    return ChangeGroup(
        id=hash_id(str(direction), *sorted(map(str, names))),
        operators=tuple(sorted({series[each.series].measure for each in changes})),
        direction=direction,
        first_bad=cluster[0].first_bad,
        last_good=max(change.last_good for change in changes),
        changes=changes,
        explains=(),
    )


def _without_constants(rows: pa.Table) -> pa.Table:
    """The rows of measures of the program that differ between builds, and those of the head."""
    low, high = (rows[name].to_numpy() for name in ("low", "high"))
    number, first = number_rows(rows.select(_KEY))
    least, most = np.full(len(first), np.inf), np.full(len(first), -np.inf)
    np.minimum.at(least, number, low)
    np.maximum.at(most, number, high)
    is_of_recording = pc.is_in(rows["measure"], pa.array(sorted(_OF_RECORDING))).to_numpy()
    is_kept = (least < most)[number] | (rows["distance"].to_numpy() == 0)
    return rows.filter(pa.array(is_kept & ~is_of_recording))


def _list_series(rows: pa.Table, numbers: dict[str, int]) -> list[ExactSeries]:
    """The measures of rows."""
    points: dict[tuple[Any, ...], list[ExactPoint]] = defaultdict(list)
    for row in rows.to_pylist():
        point = ExactPoint(numbers[row["build"]], row["dump_count"], row["low"], row["high"])
        points[tuple(row[name] for name in _KEY)].append(point)
    return [ExactSeries._make((*key, tuple(sorted(own)))) for key, own in points.items()]


def _find_changes(
    number: int, series: ExactSeries, beside: Mapping[str, ExactSeries]
) -> Iterable[LevelChange]:
    """The changes of a measure from build to build; `beside` has all measures of the same runs."""
    fewest = 1 if series.measure in _OWN else _FEWEST_STATING
    steady = [
        point for point in series.points if point.low == point.high and point.dump_count >= fewest
    ]
    for before, after in pairwise(steady):
        if before.low == after.low or _is_of_logging(series, beside, before, after):
            continue
        yield LevelChange(
            series=number,
            direction=_direction(series, beside.get(_SHARE), before, after),
            suspected=after.build,
            first_bad=after.build,
            last_good=before.build,
            base=np.array([before.build]),
            is_loud=True,
            is_residual=False,
            own_reaction=0.0,
            shift=math.log(after.low / before.low) if min(before.low, after.low) > 0 else 0.0,
            errors=[],
            state_error=0.0,
            p_adjusted=0.0,
            confirmed=after.build,
        )


def _is_of_logging(
    series: ExactSeries, beside: Mapping[str, ExactSeries], before: ExactPoint, after: ExactPoint
) -> bool:
    """Whether a share changed only because delegates log their operators otherwise.

    No operator moved into a delegate or out of one if kernels and calls are as many as before.
    """
    if series.measure != _SHARE:
        return False
    counts = [beside[name] for name in _COUNTS if name in beside]
    return not any(_differs(count, before.build, after.build) for count in counts)


def _differs(series: ExactSeries, *builds: int) -> bool:
    """Whether a measure is not the same in two builds that have it."""
    return len({(each.low, each.high) for each in series.points if each.build in builds}) > 1


def _direction(
    series: ExactSeries, share: ExactSeries | None, before: ExactPoint, after: ExactPoint
) -> int:
    """1 for worse, -1 for better; more is worse, except for the share inside delegates.

    The number of delegate calls follows that share if it changed, too: more calls are better if
    they take over operators, and fewer are worse if operators fall back to kernels.
    """
    more = 1 if after.low > before.low else -1
    if series.measure == _SHARE:
        return -more
    if share and series.measure in _CALLS and _differs(share, before.build, after.build):
        return 1 if share.value(after.build) < share.value(before.build) else -1
    return more


def _without_returns(
    changes: Iterable[LevelChange], series: ExactSeries, base_builds: int
) -> list[LevelChange]:
    """The changes, where a return to an old level ends the changes since and is not a change.

    Losing an improvement that is older than a base is a regression.
    """
    kept: list[LevelChange] = []
    for change in changes:
        value = series.value(change.first_bad)
        undone = [
            other
            for other in kept
            if other.fixed is None
            and (other.direction > 0 or change.first_bad - other.first_bad <= base_builds)
            and _is_undone(other, series, value)
        ]
        for other in undone:
            other.fixed = change.first_bad
        if all(series.value(other.last_good) != value for other in undone):
            kept.append(change)
    return kept


def _without_calls(
    changes: Iterable[LevelChange], series: Sequence[ExactSeries]
) -> list[LevelChange]:
    """The changes without those of call times that merely follow from a change of their count."""

    def place(change: LevelChange, measure: str) -> tuple[object, ...]:
        own = series[change.series]
        return own.family, own.run_name, measure, change.first_bad

    changes = list(changes)
    kept = {place(change, series[change.series].measure) for change in changes}
    return [
        change
        for change in changes
        if place(change, _COUNT_OF.get(series[change.series].measure, "")) not in kept
    ]


def _is_undone(change: LevelChange, series: ExactSeries, value: float) -> bool:
    """Whether a value is at the level before a change, or beyond it."""
    was, then = series.value(change.last_good), series.value(change.first_bad)
    return value <= was if then > was else value >= was
