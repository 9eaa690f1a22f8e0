"""The series of a group with their numbers, and breakdowns of their methods."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from tracehouse.queries.report.content import BuildPoint, EnvironmentChange, Member, is_measure
from tracehouse.queries.report.facts import Environments, Family, Recording
from tracehouse.queries.report.figures import count_text
from tracehouse.queries.report.night import SERIES, HeadNight
from tracehouse.queries.report.parts import (
    OPERATOR,
    PLACE,
    Breakdown,
    Row,
    Work,
    break_down,
    order_breakdowns,
)
from tracehouse.warehouse.alignment.alignment import Aligned, Guess, find_guesses
from tracehouse.warehouse.alignment.programs import CALL, DELEGATED, plain_name
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.queryable import Queryable
from tracehouse.warehouse.regressions.changes import LevelChange, compare_builds
from tracehouse.warehouse.regressions.fleet import SeriesHistory
from tracehouse.warehouse.regressions.parts import same_run
from tracehouse.warehouse.regressions.series_values import COUNTED
from tracehouse.warehouse.statistics.arrays import Ints
from tracehouse.warehouse.statistics.two_samples import SampleComparison, split_median

_UNKNOWN = float("nan")
MOST_METHODS = 20  # methods of an alert that have a breakdown
_BETWEEN, _BETWEEN_METHODS = "\x1f", "\x1e"  # names in a parameter: services take no lists
_Name = tuple[Any, ...]  # columns that name an operator or a method
_Program = Mapping[_Name, Mapping[str, Any]]  # rows of operators by name, in order
_Times = tuple[float, float]
_OPERATORS = ("operator", "delegate")  # levels of a method's parts
_MOST_SHOWN = 6  # methods of a comparison


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
                values = night.fleet.history.values_in(series, np.array([number]))
                own |= split_median(values, split)._asdict()
            points.append(BuildPoint(build=recording.build, dump_count=count, **own))
    return points


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


class MethodTimes(NamedTuple):
    """The times of a method before and after a change.

    Attributes:
        place: device, model, backend and run of the method.
        base_ns: Its time before.
        head_ns: Its time after, without the state of the device.
        parts: kind, event_name, delegate_id and ordinal of each event of its runs, with its times.
        builds: The builds before and after, in order.
        frame: What takes the state of the device out of times in the builds after the change.
    """

    place: Mapping[str, Any]
    base_ns: float
    head_ns: float
    parts: Iterable[tuple[Mapping[str, Any], float | None, float | None]]
    builds: tuple[Sequence[str], Sequence[str]]
    frame: float


def break_down_methods(store: Queryable, methods: Sequence[MethodTimes]) -> list[Breakdown]:
    """The breakdown of each method, the costliest first."""
    if not methods:
        return []
    times = _read_framework(store, methods)
    programs = _read_programs(store, methods)
    return order_breakdowns(_make(method, times, programs) for method in methods)


def _make(
    method: MethodTimes,
    times: Mapping[tuple[_Name, str], float],
    programs: Mapping[tuple[_Name, str], _Program],
) -> Breakdown:
    place = _name(method.place, PLACE)
    own = [programs.get((place, side[-1]), {}) for side in method.builds]
    works = []
    for keys, base_ns, head_ns in method.parts:
        if (base_ns, head_ns) != (None, None):
            name = _name(keys, OPERATOR)
            was, now = (program.get(name, keys)["kind"] for program in own)
            works.append(Work(keys, base_ns, head_ns, (was, now)))
    known = [
        [times[place, build] for build in side if (place, build) in times] for side in method.builds
    ]
    base, head = (median(each) if each else None for each in known)
    return break_down(
        method.place,
        (method.base_ns, method.head_ns),
        works,
        None if base is None or head is None else (base, head * method.frame),
        _find_guesses(works, own),
    )


def _read_framework(
    store: Queryable, methods: Sequence[MethodTimes]
) -> dict[tuple[_Name, str], float]:
    """The typical time outside of kernels and delegate calls, by method and build."""
    builds = dict.fromkeys(build for one in methods for side in one.builds for build in side)
    return {
        (_name(row, PLACE), row["build"]): row["tax_ns"]
        for row in _read(store, "framework_times", methods, builds)
        if row["tax_ns"] is not None
    }


def _read_programs(
    store: Queryable, methods: Sequence[MethodTimes]
) -> dict[tuple[_Name, str], _Program]:
    """The operators of the last builds before and after the change, by method and build."""
    ends = dict.fromkeys(side[-1] for one in methods for side in one.builds)
    found: dict[tuple[_Name, str], dict[_Name, Mapping[str, Any]]] = defaultdict(dict)
    for row in _read(store, "programs_of_methods", methods, ends):
        found[_name(row, PLACE), row["build"]][_name(row, OPERATOR)] = row
    return dict(found)


def _read(
    store: Queryable, statement: str, methods: Sequence[MethodTimes], builds: Iterable[str]
) -> list[dict[str, Any]]:
    names = (_BETWEEN.join(one.place[name] or "" for name in PLACE) for one in methods)
    params = {"methods": _BETWEEN_METHODS.join(names), "builds": _BETWEEN.join(builds)}
    rows: list[dict[str, Any]] = store.sql(read_statement(statement), params).to_pylist()
    return rows


def _name(row: Mapping[str, Any], columns: Iterable[str]) -> _Name:
    return tuple(row[column] for column in columns)


def _find_guesses(works: Sequence[Work], programs: Sequence[_Program]) -> list[Guess]:
    """The operators of two programs of which nobody can tell which one is new or gone."""
    operators = [work for work in works if CALL not in work.kinds]
    if all(None not in (work.base_ns, work.head_ns) for work in operators):
        return []
    times = {work.key: (work.base_ns, work.head_ns) for work in operators}
    has_inside = any(DELEGATED in work.kinds for work in operators)
    sides = [
        [
            Aligned(name, _likeness(row), _UNKNOWN if (ns := times[name][side]) is None else ns)
            for name, row in program.items()
            if name in times and not (has_inside and row["kind"] == CALL)
        ]
        for side, program in enumerate(programs)
    ]
    return [guess for guess in find_guesses(*sides) if _is_uneven(guess, times)]


def _is_uneven(guess: Guess, times: Mapping[Any, tuple[float | None, float | None]]) -> bool:
    """Whether one build has more of the operators: a comparison may have paired others."""
    own = [times[key] for key in {*guess.base, *guess.head}]
    return len({sum(each[side] is not None for each in own) for side in (0, 1)}) > 1


def _likeness(row: Mapping[str, Any]) -> tuple[str, str, str | None]:
    """What only order and time can tell apart."""
    return row["kind"], plain_name(row["logged_name"]), row["module"]


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


class PairBreakdowns:
    """Makes the breakdowns of two builds."""

    def __init__(self, store: Queryable, rows: Iterable[Row], *, base: str, head: str) -> None:
        """Take the rows of the query `comparison`."""
        self._store, self._builds = store, ([base], [head])
        self._rows: dict[tuple[object, ...], list[Row]] = defaultdict(list)
        for row in rows:
            if row["device"] is not None:
                self._rows[*Family.of(row), row["run"]].append(row)

    def of(self, rows: Iterable[Row]) -> list[Breakdown]:
        """The breakdown of each method that is among some rows or has some, the costliest first.

        Of many methods, only the first ones have one.
        """
        keys = dict.fromkeys((*Family.of(row), row["run"]) for row in rows if row["device"])
        methods = (
            next((row for row in self._rows[key] if row["level"] == "method"), None) for key in keys
        )
        timed = (
            self._times(row)
            for row in methods
            if row is not None and None not in (row["base_ns"], row["head_ns"])
        )
        return break_down_methods(self._store, list(islice(timed, MOST_METHODS)))

    def of_changed_methods(self) -> list[Breakdown]:
        """The breakdowns of the costliest methods that are slower or faster."""
        found = [row for own in self._rows.values() for row in own if _is_changed_method(row)]
        costliest = sorted(found, key=lambda row: -abs(row["cost_ns"] or 0.0))
        return self.of(costliest[:_MOST_SHOWN])

    def _times(self, method: Row) -> MethodTimes:
        parts = self._rows[*Family.of(method), method["run"]]
        return MethodTimes(
            {name: method[name] for name in PLACE},
            method["base_ns"],
            method["head_ns"],
            [(row, row["base_ns"], row["head_ns"]) for row in parts if row["level"] in _OPERATORS],
            self._builds,
            frame=1 / (1 + (method["state_delta"] or 0.0)),
        )


def _is_changed_method(row: Row) -> bool:
    return row["level"] == "method" and row["verdict"] in ("regression", "improvement")
