"""Parts that all forms of a report share: alerts by next step, facts, and the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from tracehouse.queries.report.content import is_measure, member_name
from tracehouse.queries.report.figures import (
    MAX_TEXT,
    and_more,
    build_text,
    cost_text,
    count_text,
    distinct_names,
    name_text,
    place_text,
    share_text,
)
from tracehouse.queries.report.notes import choose_notes
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
    note: str


def sections(report: Report) -> list[Section]:
    """The alerts of a report by next step."""
    parts = sort_groups(report.groups)
    return [
        Section("Act on these", parts.failures, "dearest first"),
        Section(
            "Look at these",
            [*parts.environment, *parts.suspects, *parts.small],
            "new, or not of the code alone",
        ),
        Section("Also known", [*parts.improvements, *parts.settled], "nothing to do now"),
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
        Verdict.KNOWN: judged and list_known(parts.settled),
        Verdict.CLEAR: judged,
        Verdict.NOT_ENOUGH_DATA: True,
    }
    return next(verdict for verdict in Verdict if found[verdict])


def verdict_text(report: Report) -> str:
    """The first line of a report: a sentence that says what got slower."""
    return name_text(report.summary, MAX_TEXT)


def list_known(groups: Sequence[Group]) -> list[Group]:
    """Regressions that are still there, and that somebody has decided about."""
    return [
        group for group in groups if group.direction == "regression" and group.state != State.FIXED
    ]


def _members(members: Sequence[Member]) -> str:
    measures = sum(is_measure(member) for member in members)
    counts = ((len(members) - measures, "operator"), (measures, "measure"))
    texts = [count_text(count, noun) for count, noun in counts if count]
    return " and ".join(texts or [count_text(0, "operator")])


def standing_text(group: Group) -> str:
    """How sure an alert is: 'confirmed by 2 builds'."""
    if group.state == State.NEW:
        return "not confirmed yet"
    builds = [point.build for point in group.members[0].history if point.dump_count]
    since = builds[builds.index(group.first_bad) :] if group.first_bad in builds else []
    is_confirmed = group.state == State.CONFIRMED and len(since) > 1
    return f"confirmed by {count_text(len(since), 'build')}" if is_confirmed else ""


def place_title(group: Group) -> str:
    """Where an alert is: 'conv on pixel8 and 2 more devices'."""
    first, line = group.members[0], group.headline
    model = and_more(name_text(first.model), line.model_count, "program")
    device = place_text(first.device, "", None, first.pool)
    return f"{model} on {and_more(device, line.device_count, 'device')}"


def operators_text(group: Group) -> str:
    """The operators of an alert, the dearest first, and the backend."""
    apart = distinct_names([member_name(member) for member in group.members])
    names = list(dict.fromkeys(map(str, apart)))
    shown = ", ".join(names[:_MOST_EDITS])
    more = f" and {len(names) - _MOST_EDITS:,} more" if len(names) > _MOST_EDITS else ""
    backend = group.members[0].backend
    return f"{shown}{more}{f' · {name_text(backend)}' if backend else ''}"


def range_text(group: Group) -> str:
    """The builds between which a group's cause lies."""
    since = f"since {build_text(group.first_bad)}"
    if group.last_good is None:
        return since
    return f"{since}, last good {build_text(group.last_good)}"


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
        ("Fixed in", group.fixed_in and build_text(group.fixed_in)),
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
        return "find the cause with the report's commands"  # there is nothing to accept
    if group.state == State.NEW:
        dumps = count_text(group.dumps_needed, "more dump")
        return f"record {dumps} of the head in another session: they confirm it or clear it"
    decide = f"tracehouse accept {group.id} --reason WHY"
    if group.is_of_environment:
        return f"record {group.last_good} again in the environment of the head; or {decide}"
    has_bisect = any(command.startswith("git bisect") for command in group.commands)
    find = "bisect it with the report's commands" if has_bisect else "look at what changed"
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
    return None if commits is None else "..".join(map(build_text, commits))


def _breadth(group: Group) -> str | None:
    line = group.headline
    if line.device_count == line.model_count == len(group.members) == 1:
        return None  # which the title says
    counts = ((line.device_count, "device"), (line.model_count, "program"))
    return ", ".join([*(count_text(*pair) for pair in counts), _members(group.members)])
