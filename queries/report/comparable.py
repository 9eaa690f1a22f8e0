"""What two builds have in common: devices, models and series that can be compared."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from statistics import median
from typing import Any

import numpy as np

from tracehouse.queries.report.content import Coverage, Missing, Sensitivity
from tracehouse.queries.report.facts import Family
from tracehouse.queries.report.figures import (
    and_more,
    build_text,
    count_text,
    name_text,
    operator_text,
)
from tracehouse.queries.report.outline import OperatorTally
from tracehouse.queries.report.parts import Row
from tracehouse.queries.report.sensitivity import SeriesLimits, describe_sensitivity
from tracehouse.queries.report.settings import Settings
from tracehouse.warehouse.queryable import Queryable
from tracehouse.warehouse.regressions.changes import SeriesVerdict
from tracehouse.warehouse.statistics.two_samples import LEAST_DUMPS

_BUILDS = """SELECT build, position, build_ordinal, build_parent, committed_at, first_captured_at,
last_captured_at FROM builds_in_order"""

_PLACES = ("device", "model", "backend", "clock")
_OBSTACLES = {  # what the builds do not have in common
    "device": "No device recorded both builds",
    "model": "No device recorded both builds with one model",
    "backend": "No model was recorded on one backend in both builds",
    "clock": "The clocks of the builds cannot be converted into each other",
}
_FACTORS = (1e3, 1e6, 1e-3, 1e-6)  # between the units of clocks
# Columns of the query `comparison` that are read here.
COLUMNS = ("level", "device", "base_count", "head_count", "base_ns", "head_ns", "state_delta")
_NEAR = math.log(1.5)  # more than any build changes all operators of a device at once
CONTAINERS = ("method", "delegate")
_OPERATOR = ("event_name", "delegate_id", "ordinal", "run")


def note_order(store: Queryable, *, base: str, head: str) -> str | None:
    """A note that base and head may be swapped; None unless the head is older.

    It is older if it comes first in the order of builds, and this is no accident: builds may be
    recorded side by side, and a commit time that is not before the recordings says nothing.
    """
    builds = {row["build"]: row for row in store.sql(_BUILDS).to_pylist()}
    was, now = builds.get(base), builds.get(head)
    if was is None or now is None or now["position"] > was["position"]:
        return None
    pairs: tuple[tuple[str, Any, Any], ...] = (
        ("ordinal", now["build_ordinal"], was["build_ordinal"]),
        ("parents", *_generations(builds, head, base)),
        ("commit time", _commit_time(now), _commit_time(was)),
        ("recordings", now["last_captured_at"], was["first_captured_at"]),
    )
    known = ((what, one < other) for what, one, other in pairs if None not in (one, other))
    by, is_swapped = next(known, ("", False))
    if not is_swapped:
        return None
    return (
        f"{build_text(head)} is older than {build_text(base)} by its {by}, so 'slower' means that "
        f"{build_text(base)} is faster: swap the builds if that is not intended"
    )


def _generations(builds: Mapping[str, Row], head: str, base: str) -> tuple[int | None, int | None]:
    """The generations of two builds, if the head is a stated ancestor of the base."""
    line = [base]
    while (parent := builds[line[-1]]["build_parent"]) in builds and parent not in line:
        line.append(parent)
    return (0, line.index(head)) if head in line else (None, None)


def _commit_time(row: Row) -> datetime | None:
    """When a build was committed, if that was before its recordings."""
    at, first = row["committed_at"], row["first_captured_at"]
    return at if at is not None and (first is None or at < first) else None


def find_obstacle(store: Queryable, rows: Iterable[Row], *, base: str, head: str) -> str | None:
    """Why no operator of two builds can be compared; None if some can.

    They need a model on a device and backend that both recorded, in clocks that can be converted.
    `rows` are those of the query `comparison`.
    """
    if any(row["base_count"] and row["head_count"] for row in rows):
        return None
    dumps = store.query("dumps", build=[base, head]).to_pylist()
    sides = [row | {"clock": _clock(row["tick_unit"])} for row in dumps]
    was, now = ([row for row in sides if row["build"] == build] for build in (base, head))
    for count in range(1, len(_PLACES) + 1):
        names = _PLACES[:count]
        if not {_key(row, names) for row in was} & {_key(row, names) for row in now}:
            what = _PLACES[count - 1]
            named = ((build_text(base), was), (build_text(head), now))
            told = " and ".join(f"{build} {_list(own, what)}" for build, own in named)
            return f"{_OBSTACLES[what]}: {told}"
    return None


def note_clocks(rows: Iterable[Row], *, base: str) -> list[str]:
    """Notes on devices whose times are all 1,000 or 1,000,000 times those of the base, or a part.

    `rows` are those of the query `comparison`.
    """
    shifts: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if row["level"] == "operator" and row["device"] and row["base_ns"] and row["head_ns"]:
            of_state = math.log1p(row["state_delta"] or 0.0)  # which the values leave out
            shifts[row["device"]].append(math.log(row["head_ns"] / row["base_ns"]) + of_state)
    notes = []
    for device, found in shifts.items():
        typical = median(found)
        for factor in _FACTORS:
            if abs(typical - math.log(factor)) < _NEAR:
                times = f"{factor:,.0f}" if factor > 1 else f"1/{1 / factor:,.0f}"
                notes.append(
                    f"{name_text(device)}: times are {times} times those of {name_text(base)}: is "
                    "the clock stated rightly for both? 'tracehouse store amend' corrects dumps"
                )
    return notes


def _clock(tick_unit: str) -> str:
    return "cycles of unknown rate" if tick_unit == "cycles" else "time"


def _key(row: Row, names: Iterable[str]) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


def _list(rows: Iterable[Row], name: str) -> str:
    """The values of a column, for people: the first one and the number of others."""
    values = sorted({str(row[name]) for row in rows if row[name] is not None})
    words = "has none" if not values else and_more(name_text(values[0]), len(values))
    if not values:
        return words
    return f"counts {words}" if name == "clock" else f"is on {words}"


def place_of_row(row: Row) -> dict[str, str]:
    """The fields of a row that settings refer to: device, model and operator."""
    return {"device": row["device"], "model": row["model"], "event": row["event_name"]}


def pair_sensitivity(
    rows: Sequence[Row], settings: Settings, day: date | None
) -> list[Sensitivity]:
    """The smallest change that two builds would show in an operator, by model, unless muted.

    In a model without operators, it is that of its methods and calls.
    """
    has_operators = {Family.of(row) for row in rows if row["level"] not in CONTAINERS}
    families: dict[Family, list[Row]] = defaultdict(list)
    for row in rows:
        is_own = row["level"] not in CONTAINERS or Family.of(row) not in has_operators
        is_muted = settings.mute_reason(**place_of_row(row), on=day) is not None
        if is_own and row["head_count"] and not is_muted:
            families[Family.of(row)].append(row)
    return [
        describe_sensitivity(
            family,
            SeriesLimits(
                [operator_text(*(row[name] for name in _OPERATOR)) for row in own],
                np.array([_smallest_change(row, settings) for row in own]),
                np.array([row["head_ns"] or 1.0 for row in own]),
                np.zeros(len(own), bool),
                np.array([row["level"] in CONTAINERS for row in own]),
            ),
            _missing(own),
        )
        for family, own in families.items()
    ]


def _smallest_change(row: Row, settings: Settings) -> float:
    """The smallest change of a series that would show; infinite if not judged."""
    shown = row["minimum_detectable"]
    verdict = SeriesVerdict(row["verdict"])
    if not verdict.is_judged or shown is None:
        return math.inf
    is_explained = verdict == SeriesVerdict.EXPLAINED_BY_RUN_SHIFT
    hidden = abs(float(row["state_delta"])) if is_explained else 0.0
    return max(settings.min_change(**place_of_row(row)), float(shown), hidden)


def _missing(rows: Sequence[Row]) -> str:
    """The data needed to judge a model."""
    needed = max((row["dumps_needed"] or 0 for row in rows), default=0)
    counts = (min(row["base_count"], row["head_count"]) for row in rows)
    there = max(counts, default=0)
    return f"{count_text(there, 'dump')} of each build, {there + needed:,} wanted"


def missing_data(dumps: Iterable[Row], base: str) -> list[Missing]:
    """Recordings of the base that the head lacks."""
    return [Missing.of(row, last_build=base, is_expected=False) for row in dumps if not row["head"]]


def describe_coverage(
    dumps: Sequence[Row],
    operators: OperatorTally,
    sensitivity: Sequence[Sensitivity],
    missing: list[Missing],
    obstacle: str | None,
) -> Coverage:
    """The recordings of the head, and missing ones; `obstacle` is why nothing is comparable."""
    there = [row for row in dumps if row["head"]]
    return Coverage(
        device_count=len({row["device"] for row in there}),
        model_count=len({(row["model"], row["backend"]) for row in there}),
        dump_count=sum(row["head"] for row in there),
        series_count=operators.total,
        judged_count=sum(row.judged_count for row in sensitivity),
        missing=missing,
        too_few=[obstacle]
        if obstacle
        else [
            f"{Family.of(row)}: {row['head']} dumps, {LEAST_DUMPS} wanted"
            for row in there
            if row["base"] and row["head"] < LEAST_DUMPS
        ],
    )
