"""Coverage of two builds, and the smallest change of each model that they would show."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date

import numpy as np

from tracehouse.queries.report.content import Coverage, Missing, Sensitivity
from tracehouse.queries.report.environment import Family
from tracehouse.queries.report.figures import count_text, operator_text
from tracehouse.queries.report.parts import Row
from tracehouse.queries.report.sensitivity import SeriesLimits, describe_sensitivity
from tracehouse.queries.report.settings import Settings
from tracehouse.queries.report.tally import OperatorTally
from tracehouse.warehouse.regressions.verdicts import SeriesVerdict
from tracehouse.warehouse.statistics.sample_sizes import LEAST_DUMPS

CONTAINERS = ("method", "delegate")
_OPERATOR = ("event_name", "delegate_id", "ordinal", "run")


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
