"""The nightly report: changes up to a build, as of its night."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

import numpy as np

from queries.report.alerts import list_alerts, order_alerts
from queries.report.budgets import broken_text, judge_budgets, list_broken
from queries.report.calls import name_hidden_operators
from queries.report.content import Coverage, Report, RunShift, Sensitivity
from queries.report.environment import Environments, Family
from queries.report.exact_alerts import judge_measures, list_exact_alerts, without_exact
from queries.report.facts import (
    add_expected,
    list_notes,
    named_commits,
    read_commits,
    read_facts,
)
from queries.report.head_view import HeadView
from queries.report.members import changed_environment
from queries.report.night import HeadNight, Judge, judge_head
from queries.report.outline import Outline, count_expected, find_verdict, sort_groups
from queries.report.sensitivity import night_sensitivity
from queries.report.sensitivity_summary import SensitivitySummary, join_first
from queries.report.settings import Settings
from queries.report.verdicts import Verdict
from warehouse.queryable import Queryable

_DUMPS = """SELECT device, model, backend, count(*) AS dumps FROM named_dumps
WHERE build = $head GROUP BY device, model, backend"""


def nightly_report(
    store: Queryable, settings: Settings, *, head: str | None = None, judge: Judge | None = None
) -> Report:
    """The report of a build, by default of the last one; later builds do not count.

    Args:
        store: The store.
        settings: The team's settings.
        head: The build.
        judge: Function that judges the series; by default in this process.

    Raises:
        OptionError: The store has no such build, or no builds.
    """
    night = judge_head(store, head, settings, judge)
    commits = read_commits(store)
    exact = judge_measures(store, night)
    night = without_exact(night, exact.history)
    environments = Environments(store)
    around = partial(changed_environment, environments)
    groups = order_alerts(
        [
            *(
                name_hidden_operators(store, group, settings.nightly.min_change)
                for group in list_alerts(night, commits, around)
            ),
            *list_exact_alerts(night, exact, commits, environments),
        ]
    )
    view, parts = HeadView(night), sort_groups(groups)
    opened = [*parts.failures, *parts.environment, *parts.suspects]
    base = view.base({group.first_bad for group in opened})
    facts = read_facts(store, base=base[0] if base else None, head=night.head, until=night.until)
    muted = Counter(night.muted) + Counter(exact.muted)
    counts = {**view.count_verdicts(), **{f"muted: {k}": n for k, n in muted.items()}}
    counted = store.sql(_DUMPS, {"head": night.head}).to_pylist()
    dumps = {Family.of(row): int(row["dumps"]) for row in counted}
    sensitivity = night_sensitivity(night, dumps)
    missing = add_expected(store, view.missing(), settings, night.head)
    coverage = view.coverage(sum(dumps.values()), sensitivity, missing)
    shifts = view.run_shifts()
    budgets, unfit = judge_budgets(night, exact.history)
    quality = facts.quality.model_copy(update={"warnings": [*unfit, *facts.quality.warnings]})
    verdict = find_verdict(parts, sensitivity, missing, budgets)
    return Report(
        kind="nightly",
        head=night.head,
        base=base,
        recorded_on=night.day,
        commits=named_commits(commits, [night.head, *base], groups),
        verdict=verdict,
        summary=f"{night.head}: "
        f"{_summary(verdict, parts, coverage, shifts, sensitivity)}{broken_text(budgets)}",
        notes=[
            *list_broken(budgets),
            *list_notes(missing, facts.reference_drift, _relative_devices(night)),
        ],
        groups=groups,
        run_shifts=shifts,
        operator_changes=view.operator_changes(),
        budgets=budgets,
        coverage=coverage,
        sensitivity=sensitivity,
        **facts._replace(quality=quality)._asdict(),
        verdict_counts=dict(sorted(counts.items())),
        rules={**night.rules._asdict(), "min_change": settings.nightly.min_change},
    )


def _relative_devices(night: HeadNight) -> set[str]:
    """Devices on which times are relative to a reference build."""
    devices = night.fleet.keys["device"].to_pylist()
    return {devices[row] for row in np.flatnonzero(night.fleet.has_reference) if devices[row]}


def _summary(
    verdict: Verdict,
    parts: Outline,
    coverage: Coverage,
    shifts: Sequence[RunShift],
    sensitivity: Sequence[Sensitivity],
) -> str:
    """The verdict in a sentence, with the numbers of the title and the tiles."""
    seen, absent = SensitivitySummary.of(sensitivity), count_expected(coverage.missing)
    counts = {
        "confirmed": len(parts.failures),
        "confirmed with another environment": len(parts.environment),
        "suspected": len(parts.suspects),
    }
    found = [f"{count} {word}" for word, count in counts.items() if count]
    noun = "regression" if sum(counts.values()) == 1 else "regressions"
    what = f"{' and '.join(found)} {noun}" if found else "no regressions"
    if verdict == Verdict.NOT_ENOUGH_DATA:
        what = join_first("not enough data", coverage.too_few)
    moved = sum(shift.is_notable for shift in shifts)
    clauses = [
        what,
        f"improvements: {len(parts.improvements)}",
        f"series judged: {coverage.judged_count:,} of {coverage.series_count:,}",
        *([f"moved as a whole: {moved}"] if moved else []),
        *([f"explained by such shifts: {seen.explained:,}"] if seen.explained else []),
        *([f"expected, but not recorded: {absent}"] if absent else []),
        *([f"blind on {seen.share(seen.blind)}, {seen.limits}"] if seen.blind else []),
    ]
    return ", ".join(clauses)
