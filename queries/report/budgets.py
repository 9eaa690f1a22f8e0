"""Budgets that a team has set, and the limited values of a head."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from tracehouse.queries.report.environment import Family
from tracehouse.queries.report.exact_alerts import exact_unit
from tracehouse.queries.report.facts import measure_name
from tracehouse.queries.report.figures import measure_text
from tracehouse.queries.report.measures import Measurement
from tracehouse.queries.report.night import HeadNight
from tracehouse.queries.report.parts import Budget
from tracehouse.queries.report.settings import BudgetLimit
from tracehouse.warehouse.regressions.exact_changes import MEMORY, ExactHistory
from tracehouse.warehouse.statistics.arrays import reaches

_MOST_LISTED = 5


def judge_budgets(night: HeadNight, exact: ExactHistory) -> tuple[list[Budget], list[str]]:
    """The results of budgets for a head, broken ones first; and notes on unused budgets."""
    limits = night.settings.budgets
    if not limits:
        return [], []
    measured = [*night.findings.measured, *_exact_measures(exact)]
    judged: list[Budget] = []
    warnings = []
    for limit in limits:
        named = [each for each in measured if _fits(limit, each)]
        fitting = [each for each in named if limit.unit in (None, each.unit)]
        judged += [_judge(limit, each) for each in fitting]
        if not fitting:
            warnings.append(_warning(limit, named, measured))
    judged.sort(key=lambda row: not row.is_broken)
    return judged, warnings


def list_broken(budgets: Sequence[Budget]) -> list[str]:
    """The first broken budgets, one per line, and the number of others."""
    broken = [_text(budget) for budget in budgets if budget.is_broken]
    more = [f"over budget: {len(broken) - _MOST_LISTED:,} more"] * (len(broken) > _MOST_LISTED)
    return [*(f"over budget: {text}" for text in broken[:_MOST_LISTED]), *more]


def _text(budget: Budget) -> str:
    value, limit = (measure_text(x, budget.unit) for x in (budget.value, budget.limit))
    return f"{budget.measure} {value} on {budget.where}, {budget.bound} {limit}"


def _fits(limit: BudgetLimit, measured: Measurement) -> bool:
    return limit.measure == measured.measure and limit.fits(**measured.family._asdict())


def _judge(limit: BudgetLimit, measured: Measurement) -> Budget:
    bound, amount = limit.bound
    value = measured.high if bound == "at most" else measured.low
    return Budget(
        **measured.family._asdict(),
        measure=measured.name,
        unit=measured.unit,
        value=value,
        limit=amount.value,
        bound=bound,
        is_broken=not (
            reaches(amount.value, value) if bound == "at most" else reaches(value, amount.value)
        ),
    )


def _warning(
    limit: BudgetLimit, named: Sequence[Measurement], measured: Sequence[Measurement]
) -> str:
    what = f"the budget of {limit.measure} (device {limit.device}, model {limit.model})"
    if named:
        return f"{what} is in {limit.unit}, its values are in {named[0].unit}: it is not judged"
    known = ", ".join(sorted({each.measure for each in measured})) or "nothing"
    return f"{what} matches nothing in the head, which has {known}"


def _exact_measures(exact: ExactHistory) -> Iterator[Measurement]:
    """Measures without noise of the head; memory is that of all allocators together."""
    head = len(exact.builds) - 1
    memory: dict[tuple[Family, str | None], list[tuple[float, float]]] = defaultdict(list)
    for series in exact.series:
        family = Family(*series.family)
        for point in series.points:
            if point.build != head:
                continue
            if series.measure == MEMORY:
                memory[family, series.run_name].append((point.low, point.high))
            elif series.run_name is not None:
                yield Measurement(
                    family,
                    series.measure,
                    measure_name(series.measure, series.run_name, None),
                    exact_unit(series.measure),
                    point.low,
                    point.high,
                )
    for (family, run_name), ends in memory.items():
        low, high = (sum(side) for side in zip(*ends, strict=True))
        name = measure_name(MEMORY, run_name, None)
        yield Measurement(family, MEMORY, name, "bytes", low, high)
