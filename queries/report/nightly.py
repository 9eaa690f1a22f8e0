"""The nightly report: changes up to a build, as of its night."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from tracehouse.queries.report.alerts import list_alerts, order_alerts
from tracehouse.queries.report.budgets import broken_text, judge_budgets, list_broken
from tracehouse.queries.report.calls import is_refilled_call, name_hidden_operators
from tracehouse.queries.report.content import Coverage, Missing, Report, RunShift, Sensitivity
from tracehouse.queries.report.environment import Environments, Family
from tracehouse.queries.report.exact_alerts import judge_measures, list_exact_alerts, without_exact
from tracehouse.queries.report.facts import (
    add_expected,
    list_notes,
    named_commits,
    read_commits,
    read_facts,
)
from tracehouse.queries.report.members import changed_environment
from tracehouse.queries.report.night import HeadNight, judge_head
from tracehouse.queries.report.night_breakdowns import NightBreakdowns
from tracehouse.queries.report.outline import Outline, count_expected, find_verdict, sort_groups
from tracehouse.queries.report.sensitivity_summary import SensitivitySummary, join_first
from tracehouse.queries.report.settings import Settings
from tracehouse.queries.report.verdicts import Verdict
from tracehouse.warehouse.queryable import Streamable
from tracehouse.warehouse.regressions.judging import Judge


def nightly_report(
    store: Streamable, settings: Settings, *, head: str | None = None, judge: Judge | None = None
) -> Report:
    """The report of a build, by default of the last one; later builds do not count.

    Raises:
        OptionError: The store has no such build, or no builds.
    """
    night = judge_head(store, head, settings, judge)
    commits = read_commits(store)
    exact = judge_measures(store, night)
    night = replace(
        without_exact(night, exact.history), mute_reasons=night.mute_reasons | exact.mute_reasons
    )
    environments = Environments(store)
    around = partial(changed_environment, environments)
    groups = order_alerts(
        [
            *(
                name_hidden_operators(store, group, settings.nightly.min_change)
                for group in list_alerts(night, commits, around, NightBreakdowns(store, night).of)
                if not is_refilled_call(store, group)
            ),
            *list_exact_alerts(night, exact, commits, environments),
        ]
    )
    parts, found = sort_groups(groups), night.findings
    opened = [*parts.failures, *parts.environment, *parts.suspects, *parts.small]
    builds = [each.build for each in night.fleet.nights]
    bad = {group.first_bad for group in opened}
    base = found.base(builds, night.rules.base_builds, bad)
    facts = read_facts(store, base=base[0] if base else None, head=night.head, until=night.until)
    muted = Counter(night.muted) + Counter(exact.muted)
    counts = {**found.verdict_counts, **{f"muted: {k}": n for k, n in muted.items()}}
    sensitivity, shifts = found.sensitivity, found.run_shifts
    missing = add_expected(store, found.missing, settings, night.head)
    coverage = _coverage(night, missing)
    budgets, unfit = judge_budgets(night, exact.history)
    verdict = find_verdict(parts, sensitivity, missing, budgets)
    return Report(
        kind="nightly",
        head=night.head,
        base=base,
        recorded_on=night.day,
        commits=named_commits(commits, [night.head, *base], groups),
        repo_url=settings.report.repo_url,
        verdict=verdict,
        summary=f"{night.head}: "
        f"{_summary(verdict, parts, coverage, shifts, sensitivity)}{broken_text(budgets)}",
        notes=[
            *list_broken(budgets),
            *unfit,
            *list_notes(missing, facts.reference_drift, found.relative_devices),
        ],
        point_notes=[],
        groups=groups,
        run_shifts=shifts,
        operator_changes=found.operator_changes,
        budgets=budgets,
        coverage=coverage,
        sensitivity=sensitivity,
        **facts._asdict(),
        verdict_counts=dict(sorted(counts.items())),
        rules={**night.rules._asdict(), "min_change": settings.nightly.min_change},
    )


def _coverage(night: HeadNight, missing: list[Missing]) -> Coverage:
    """The recordings of the head, and missing ones."""
    found = night.findings
    return Coverage(
        device_count=len({family.device for family in found.families}),
        model_count=len({(family.model, family.backend) for family in found.families}),
        dump_count=sum(night.dumps.values()),
        series_count=found.series_count,
        judged_count=sum(row.judged_count for row in found.sensitivity),
        missing=missing,
        too_few=[
            f"{Family.of(dict(row))}: {row.missing}"
            for row in found.sensitivity
            if row.missing is not None
        ],
    )


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
        *([f"other changes to look at: {len(parts.small)}"] if parts.small else []),
        f"improvements: {len(parts.improvements)}",
        f"series judged: {coverage.judged_count:,} of {coverage.series_count:,}",
        *([f"moved as a whole: {moved}"] if moved else []),
        *([f"explained by such shifts: {seen.explained:,}"] if seen.explained else []),
        *([f"expected, but not recorded: {absent}"] if absent else []),
        *([f"blind on {seen.share(seen.blind)}, {seen.limits}"] if seen.blind else []),
    ]
    return ", ".join(clauses)
