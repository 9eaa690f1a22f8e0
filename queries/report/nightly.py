"""The nightly report: what changed up to a build, as of its night."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from queries.asked import AskedStore
from queries.report.alerts import list_alerts
from queries.report.content import Coverage, Group, Report, RunShift, Sensitivity, Verdict
from queries.report.environment import Environments, Family
from queries.report.facts import read_facts
from queries.report.head_view import HeadView
from queries.report.members import changed_environment
from queries.report.night import Judge, judge_head
from queries.report.outline import find_verdict, sort_groups
from queries.report.sensitivity import night_sensitivity
from queries.report.settings import Settings
from queries.report.sight import Sight, join_first

_COMMITS = "SELECT name, commit FROM builds"
_DUMPS = """SELECT device, model, backend, count(*) AS dumps FROM named_dumps
WHERE build = $head GROUP BY device, model, backend"""


def nightly_report(
    store: AskedStore, settings: Settings, *, head: str | None = None, judge: Judge | None = None
) -> Report:
    """The report of a build, by default of the last one; later builds do not count.

    Args:
        store: The store.
        settings: What the team has settled.
        head: The build.
        judge: What judges its series; by default this process.

    Raises:
        OptionError: The store has no such build, or none at all.
    """
    night = judge_head(store, head, settings, judge)
    commits = {row["name"]: row["commit"] for row in store.sql(_COMMITS).to_pylist()}
    around = partial(changed_environment, Environments(store))
    groups = list_alerts(night, commits, around)
    view = HeadView(night)
    base = view.base[0] if view.base else None
    facts = read_facts(store, base=base, head=night.head, until=night.until)
    counts = {**view.count_verdicts(), **{f"muted: {k}": n for k, n in night.muted.items()}}
    dumps = {
        Family(row["device"], row["model"], row["backend"]): int(row["dumps"])
        for row in store.sql(_DUMPS, {"head": night.head}).to_pylist()
    }
    sensitivity = night_sensitivity(night, dumps)
    coverage = view.coverage(sum(dumps.values()), sensitivity)
    shifts = view.run_shifts()
    verdict = find_verdict(sort_groups(groups), sensitivity)
    return Report(
        kind="nightly",
        head=night.head,
        base=view.base,
        verdict=verdict,
        summary=f"{night.head}: {_summary(verdict, groups, coverage, shifts, sensitivity)}",
        groups=groups,
        run_shifts=shifts,
        operator_changes=view.operator_changes(),
        exact_changes=facts.exact_changes,
        framework_tax=facts.framework_tax,
        coverage=coverage,
        sensitivity=sensitivity,
        quality=facts.quality,
        refused=facts.refused,
        verdict_counts=dict(sorted(counts.items())),
        rules={**night.rules._asdict(), "min_change": settings.nightly.min_change},
    )


def _summary(
    verdict: Verdict,
    groups: Sequence[Group],
    coverage: Coverage,
    shifts: Sequence[RunShift],
    sensitivity: Sequence[Sensitivity],
) -> str:
    """The verdict in a sentence; its numbers are those of the title and of the tiles."""
    parts, seen = sort_groups(groups), Sight.of(sensitivity)
    counts = {
        "confirmed": len(parts.failures),
        "confirmed with another environment": len(parts.environment),
        "suspected": len(parts.suspects),
    }
    found = [f"{count} {word}" for word, count in counts.items() if count]
    noun = "regression" if sum(counts.values()) == 1 else "regressions"
    what = f"{' and '.join(found)} {noun}" if found else "no regressions"
    if verdict == "not_enough_data":
        what = join_first("not enough data", coverage.too_few)
    moved = sum(shift.is_notable for shift in shifts)
    told = [
        what,
        f"improvements: {len(parts.improvements)}",
        f"series judged: {coverage.judged_count:,} of {coverage.series_count:,}",
        *([f"moved as a whole: {moved}"] if moved else []),
        *([f"explained by such shifts: {seen.explained:,}"] if seen.explained else []),
        *([f"blind on {seen.share(seen.blind)}, {seen.limits}"] if seen.blind else []),
    ]
    return ", ".join(told)
