"""The nightly report: changes up to a build, as of its night."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial

from tracehouse.queries.report.alerts import list_alerts, order_alerts
from tracehouse.queries.report.budgets import judge_budgets, list_broken
from tracehouse.queries.report.calls import is_refilled_call, name_hidden_operators
from tracehouse.queries.report.content import Coverage, Missing, Report
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
from tracehouse.queries.report.outline import find_verdict, sort_groups
from tracehouse.queries.report.sentences import nightly_sentence
from tracehouse.queries.report.settings import Settings
from tracehouse.queries.report.tally import tally_night
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
    report = Report(
        kind="nightly",
        head=night.head,
        base=base,
        recorded_on=night.day,
        commits=named_commits(commits, [night.head, *base], groups),
        repo_url=settings.report.repo_url,
        verdict=verdict,
        summary="",
        tally=tally_night(found.verdict_counts, groups, night.head, muted=night.muted_operators),
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
    return report.model_copy(update={"summary": nightly_sentence(report)})


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
