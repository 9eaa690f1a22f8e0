"""The nightly report: what changed up to a build, as of its night."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache

from queries.asked import AskedStore
from queries.report.alerts import list_alerts
from queries.report.content import Group, Report, RunShift, State, Verdict
from queries.report.facts import changed_environment, read_facts
from queries.report.head_view import HeadView
from queries.report.night import Judge, judge_head
from queries.report.outline import is_of_environment
from queries.report.settings import Settings

_COMMITS = "SELECT name, commit FROM builds"
_DUMPS = "SELECT count(*) AS dumps FROM named_dumps WHERE build = $head"


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
    around = cache(lambda base, head: changed_environment(store, base, head))
    groups = list_alerts(night, commits, around)
    view = HeadView(night)
    base = view.base[0] if view.base else None
    facts = read_facts(store, base=base, head=night.head, until=night.until)
    counts = {**view.count_verdicts(), **{f"muted: {k}": n for k, n in night.muted.items()}}
    dumps = int(store.sql(_DUMPS, {"head": night.head})["dumps"][0].as_py())
    shifts = view.run_shifts()
    verdict = _verdict(groups, counts)
    return Report(
        kind="nightly",
        head=night.head,
        base=view.base,
        verdict=verdict,
        summary=f"{night.head}: {_summary(verdict, groups, counts, shifts)}",
        groups=groups,
        run_shifts=shifts,
        operator_changes=view.operator_changes(),
        exact_changes=facts.exact_changes,
        framework_tax=facts.framework_tax,
        coverage=view.coverage(dumps),
        quality=facts.quality,
        refused=facts.refused,
        verdict_counts=dict(sorted(counts.items())),
        rules={**night.rules._asdict(), "min_change": settings.nightly.min_change},
    )


def _verdict(groups: Sequence[Group], counts: dict[str, int]) -> Verdict:
    bad = {
        group.state
        for group in groups
        if group.direction == "regression" and not is_of_environment(group)
    }
    if "confirmed" in bad:
        return "regressions"
    if "new" in bad:
        return "suspects"
    tested = ("unchanged", "suspect", "within_build_noise", "explained_by_run_shift")
    return "clear" if any(counts.get(name) for name in tested) else "not_enough_data"


def _summary(
    verdict: Verdict, groups: Sequence[Group], counts: dict[str, int], shifts: Sequence[RunShift]
) -> str:
    states = Counter(group.state for group in groups if group.direction == "regression")
    faster = sum(group.direction == "improvement" for group in groups)
    series = sum(counts.values()) - counts.get("no_data", 0)
    words: dict[State, str] = {"confirmed": "confirmed", "new": "suspected"}
    found = [f"{states[state]} {word}" for state, word in words.items() if states[state]]
    noun = "regression" if sum(states[state] for state in words) == 1 else "regressions"
    none = "not enough data" if verdict == "not_enough_data" else "no regressions"
    what = f"{' and '.join(found)} {noun}" if found else none
    moved = sum(shift.is_notable for shift in shifts)
    whole = f", moved as a whole: {moved}" if moved else ""
    return f"{what}, improvements: {faster}, series: {series:,}{whole}"
