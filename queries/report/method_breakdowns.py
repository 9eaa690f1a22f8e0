"""Breakdowns of methods whose times are known, with what a store says of their runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from tracehouse.queries.report.breakdown import (
    OPERATOR,
    PLACE,
    Breakdown,
    Work,
    break_down,
    order_breakdowns,
)
from tracehouse.warehouse.alignment.alignment import Aligned, Guess, find_guesses
from tracehouse.warehouse.alignment.programs import CALL, DELEGATED, plain_name
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.queryable import Queryable

_UNKNOWN = float("nan")
MOST_METHODS = 20  # of an alert
_BETWEEN, _BETWEEN_METHODS = "\x1f", "\x1e"  # names in a parameter: services take no lists


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


_Name = tuple[Any, ...]  # of an operator, or of a method
_Program = Mapping[_Name, Mapping[str, Any]]  # rows of operators by name, in order


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
