"""Parts that all forms of a report share: alerts by next step, facts, and the verdict."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from tracehouse.queries.report.figures import (
    and_more,
    cost_text,
    count_text,
    is_measure,
    name_text,
    share_text,
)
from tracehouse.queries.report.notes import choose_notes
from tracehouse.queries.report.sensitivity_summary import SensitivitySummary, join_first
from tracehouse.queries.report.verdicts import State, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracehouse.queries.report.content import Group, Member, Missing, Report, Sensitivity
    from tracehouse.queries.report.notes import Note
    from tracehouse.queries.report.parts import Budget
    from tracehouse.queries.report.verdicts import Tone

SIGNS = {"regression": "▲", "improvement": "▼"}
_MOST_EDITS = 3  # of an alert, in its card
CARD_SHARE = 0.01  # share of the method's time; cheaper alerts are shown in one line


class Outline(NamedTuple):
    """The groups of a report by next step, each part in the report's order."""

    failures: list[Group]
    environment: list[Group]
    suspects: list[Group]
    small: list[Group]
    improvements: list[Group]
    settled: list[Group]


class Section(NamedTuple):
    """Alerts with the same next step."""

    title: str
    groups: list[Group]
    empty: str


def sections(report: Report) -> list[Section]:
    """The alerts of a report by next step."""
    parts = sort_groups(report.groups)
    return [
        Section("Act now", parts.failures, "No regression is confirmed."),
        Section("Look", [*parts.environment, *parts.suspects, *parts.small], ""),
        Section("Ignore", [*parts.improvements, *parts.settled], ""),
    ]


def is_card(group: Group) -> bool:
    """Whether a group costs enough to be shown in full, or has an unknown cost."""
    share = group.headline.method_share
    return share is None or abs(share) >= CARD_SHARE


def sort_groups(groups: Sequence[Group]) -> Outline:
    """Sort groups by next step.

    Failures are confirmed regressions, except `environment`: those with another environment.
    Suspects are new; small ones are certain, but to look at and not to act on; settled ones
    are acknowledged, accepted, muted or fixed.
    """
    parts = Outline([], [], [], [], [], [])
    for group in groups:
        if group.state.is_settled:
            parts.settled.append(group)
        elif group.direction == "improvement":
            parts.improvements.append(group)
        elif group.state == State.NEW:
            parts.suspects.append(group)
        elif group.is_small:
            parts.small.append(group)
        else:
            (parts.environment if group.is_of_environment else parts.failures).append(group)
    return parts


def find_verdict(
    parts: Outline,
    sensitivity: Sequence[Sensitivity],
    missing: Sequence[Missing],
    budgets: Sequence[Budget] = (),
) -> Verdict:
    """The verdict of a report: the worst of its groups, otherwise its sensitivity."""
    judged = [row for row in sensitivity if row.judged_count]
    found = {
        Verdict.REGRESSIONS: parts.failures,
        Verdict.OVER_BUDGET: any(row.is_broken for row in budgets),
        Verdict.OTHER_ENVIRONMENT: parts.environment,
        Verdict.INCOMPLETE: any(row.is_expected for row in missing),
        Verdict.SUSPECTS: parts.suspects or parts.small,
        Verdict.BLIND: any(row.is_blind for row in judged),
        Verdict.KNOWN: judged and _list_known(parts),
        Verdict.CLEAR: judged,
        Verdict.NOT_ENOUGH_DATA: True,
    }
    return next(verdict for verdict in Verdict if found[verdict])


def verdict_text(report: Report) -> str:
    """The verdict in a few words, with the number of groups."""
    parts, seen = sort_groups(report.groups), SensitivitySummary.of(report.sensitivity)
    known, absent = _known_text(parts), count_expected(report.coverage.missing)
    broken = sum(row.is_broken for row in report.budgets)
    texts = {
        Verdict.REGRESSIONS: _count(parts.failures, "regression"),
        Verdict.OVER_BUDGET: f"{count_text(broken, 'budget')} broken",
        Verdict.OTHER_ENVIRONMENT: f"{_count(parts.environment, 'regression')}, "
        "with another environment",
        Verdict.INCOMPLETE: f"Incomplete: {count_text(absent, 'expected recording')} missing",
        Verdict.SUSPECTS: _suspects_text(parts),
        Verdict.BLIND: f"Blind on {seen.share(seen.blind)}: {seen.limits}{known and f'. {known}'}",
        Verdict.KNOWN: f"Nothing new. {known}",
        Verdict.CLEAR: f"Nothing got slower{seen.reach}",
        Verdict.NOT_ENOUGH_DATA: join_first("Not enough data", report.coverage.too_few),
    }
    return texts[report.verdict]


def _suspects_text(parts: Outline) -> str:
    """The number of suspects, and that of other changes to look at."""
    counts = ((parts.suspects, "suspect"), (parts.small, "change to look at"))
    texts = [_count(groups, noun) for groups, noun in counts if groups]
    return f"{' and '.join(texts)}, nothing {'else ' if parts.small else ''}confirmed"


def _list_known(parts: Outline) -> list[Group]:
    """Regressions that are still there, and that somebody has decided about."""
    return [
        group
        for group in parts.settled
        if group.direction == "regression" and group.state != State.FIXED
    ]


def _known_text(parts: Outline) -> str:
    """How many regressions are acknowledged, and how many accepted."""
    counts = Counter(group.state for group in _list_known(parts))
    texts = [
        f"{count_text(count, 'regression')} {'is' if count == 1 else 'are'} {state.label}"
        for state in State
        if (count := counts[state])
    ]
    return " and ".join(texts)


def build_lines(report: Report) -> list[str]:
    """The builds of a report, with source revisions and the day of recording."""

    def named(build: str) -> str:
        commit = report.commits.get(build)
        return f"{name_text(build)} ({name_text(commit)})" if commit else name_text(build)

    base = and_more(named(report.base[0]), len(report.base)) if report.base else "none"
    lines = [f"Head {named(report.head)}", f"base {base}"]
    return [*lines, f"recorded {report.recorded_on}"] if report.recorded_on else lines


def count_expected(missing: Sequence[Missing]) -> int:
    """The number of missing recordings that tracehouse.toml expects every night."""
    return sum(row.is_expected for row in missing)


def _count(groups: Sequence[Group], noun: str) -> str:
    """The number of alerts, and of their operators as in `tracehouse compare`."""
    return f"{count_text(len(groups), noun)} of {_members([m for g in groups for m in g.members])}"


def _members(members: Sequence[Member]) -> str:
    measures = sum(is_measure(member) for member in members)
    counts = ((len(members) - measures, "operator"), (measures, "measure"))
    texts = [count_text(count, noun) for count, noun in counts if count]
    return " and ".join(texts or [count_text(0, "operator")])


def range_text(group: Group) -> str:
    """The builds between which a group's cause lies."""
    since = f"since {group.first_bad}"
    return f"{since}, last good {group.last_good}" if group.last_good is not None else since


def tone_of(group: Group) -> Tone:
    """The colour of a group: an improvement is good until a decision."""
    is_gain = group.direction == "improvement" and group.state.tone != "soft"
    return "good" if is_gain else group.state.tone


def line_text(group: Group) -> str:
    """A group in a line: title, cost, state and builds."""
    line = group.headline
    cost = "" if line.cost_ns is None else f", {cost_text(line.cost_ns)} per run"
    return f"{SIGNS[group.direction]} {line.title}{cost} ({state_text(group)})"


def state_text(group: Group) -> str:
    """The state of a group and its builds."""
    return f"{group.state.label}, {range_text(group)}"


def facts(group: Group, report: Report) -> list[tuple[str, str]]:
    """Further facts of a group: pairs of a label and a text."""
    line = group.headline
    found = [
        ("Of the method's time", share_text(line.method_share)),
        ("Of the whole change", share_text(line.total_share)),
        ("Operators gained or lost", _edits_text(group)),
        ("Seen on", _breadth(group)),
        ("May be", next((m.may_be for m in (*group.members, *group.explains) if m.may_be), None)),
        ("Commits", _commits_text(group, report)),
        ("Owner", group.owner),
        ("Next step", next_step(group, report)),
        ("Decided because", group.reason),
        ("Fixed in", group.fixed_in),
        *(
            (f"Note on {name_text(note.build)}", note.signed_text)
            for note in notes_on(group, report)
        ),
        ("Alert", group.id),
    ]
    return [(label, text) for label, text in found if text is not None]


def _edits_text(group: Group) -> str | None:
    """The costliest operators that a method gained or lost, with their costs."""
    texts = [
        f"{edit.text}{'' if edit.cost_ns is None else f' ({cost_text(edit.cost_ns)})'}"
        for edit in group.edits
    ]
    more = len(texts) - _MOST_EDITS
    if more > 0:
        texts[_MOST_EDITS:] = [f"{more:,} more"]
    return ", ".join(texts) or None


def notes_on(group: Group, report: Report) -> list[Note]:
    """The notes on points of a group's series."""
    return choose_notes(report.point_notes, map(vars, (*group.members, *group.explains)))


def next_step(group: Group, report: Report) -> str | None:
    """The next step for a group; None if nothing is to be done."""
    if group.direction == "improvement" or group.state.is_settled:
        return None
    if report.kind == "compare":
        return "find the cause with the commands below"  # there is nothing to accept
    if group.state == State.NEW:
        dumps = count_text(group.dumps_needed, "more dump")
        return f"record {dumps} of the head in another session: they confirm it or clear it"
    decide = f"tracehouse accept {group.id} --reason WHY"
    if group.is_of_environment:
        return f"record {group.last_good} again in the environment of the head; or {decide}"
    has_bisect = any(command.startswith("git bisect") for command in group.commands)
    find = "bisect it with the commands below" if has_bisect else "look at what changed"
    return f"{find}, and fix it; or {decide}"


def commits_url(group: Group, report: Report) -> str:
    """The address of the commits between which the cause lies; empty if it is unknown."""
    commits = _commits(group, report)
    if commits is None or report.repo_url is None:
        return ""
    good, bad = (quote(commit, safe="") for commit in commits)
    return report.repo_url.replace("{base}", good).replace("{head}", bad)


def _commits(group: Group, report: Report) -> tuple[str, str] | None:
    """The source revisions between which the cause lies, if both are known."""
    good, bad = (report.commits.get(build or "") for build in (group.last_good, group.first_bad))
    return None if good is None or bad is None else (good, bad)


def _commits_text(group: Group, report: Report) -> str | None:
    commits = _commits(group, report)
    return None if commits is None else "..".join(map(name_text, commits))


def _breadth(group: Group) -> str:
    line = group.headline
    counts = ((line.device_count, "device"), (line.model_count, "model"))
    return ", ".join([*(count_text(*pair) for pair in counts), _members(group.members)])
