"""The parts of a report that its forms share: its groups sorted by what to do, and its verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from queries.report.figures import cost_text, count_text

if TYPE_CHECKING:
    from queries.report.content import Group, Report

STATES = {
    "new": "suspect",
    "confirmed": "confirmed",
    "acknowledged": "acknowledged",
    "accepted": "accepted",
    "fixed": "fixed",
}
_NO_EXCUSE = "temperature"
_SETTLED = {"acknowledged", "accepted", "fixed"}
SIGNS = {"regression": "▲", "improvement": "▼"}


class Outline(NamedTuple):
    """The groups of a report by what to do about them, each part in the report's order."""

    failures: list[Group]
    suspects: list[Group]
    improvements: list[Group]
    settled: list[Group]


def outline(report: Report) -> Outline:
    """Sort the groups of a report.

    Failures are regressions that are confirmed, suspects those that are new;
    settled is what somebody works on or accepted, what is fixed, and what began with another
    environment.
    """
    parts = Outline([], [], [], [])
    for group in report.groups:
        if group.state in _SETTLED or is_of_environment(group):
            parts.settled.append(group)
        elif group.direction == "improvement":
            parts.improvements.append(group)
        else:
            (parts.suspects if group.state == "new" else parts.failures).append(group)
    return parts


def is_of_environment(group: Group) -> bool:
    """Whether something changed around the code on every device that a group is about.

    A warmer night is worth a word, and no reason to let a regression pass.
    """
    changed = {change.device for change in group.environment if change.attribute != _NO_EXCUSE}
    return all(member.device in changed for member in group.members)


def verdict_text(report: Report) -> str:
    """The verdict in a few words, with how many groups make it."""
    parts = outline(report)
    texts = {
        "regressions": count_text(len(parts.failures), "regression"),
        "suspects": f"{count_text(len(parts.suspects), 'suspect')}, nothing confirmed",
        "clear": "Nothing got slower",
        "not_enough_data": "Not enough data",
    }
    return texts[report.verdict]


def range_text(group: Group) -> str:
    """Between which builds the cause of a group is."""
    since = f"since {group.first_bad}"
    return f"{since}, last good {group.last_good}" if group.last_good is not None else since


def line_text(group: Group) -> str:
    """A group in a line: its title, what it costs, its state and its builds."""
    line = group.headline
    cost = "" if line.cost_ns is None else f", {cost_text(line.cost_ns)} per run"
    sign = SIGNS[group.direction]
    return f"{sign} {line.title}{cost} ({STATES[group.state]}, {range_text(group)})"


def facts(group: Group) -> list[tuple[str, str]]:
    """What a group says besides its line: pairs of a label and a text."""
    line = group.headline
    share = line.total_share
    found = [
        ("Of the whole change", None if share is None else f"{100 * share:.0f} %"),
        ("Seen on", _breadth(group)),
        ("To be confirmed", _wanted(group.dumps_needed)),
        ("Owner", group.owner),
        ("Accepted because", group.reason),
        ("Fixed in", group.fixed_in),
        ("Alert", group.id),
    ]
    return [(label, text) for label, text in found if text is not None]


def _breadth(group: Group) -> str:
    line = group.headline
    counts = ((line.device_count, "device"), (line.model_count, "model"))
    series = f"{line.member_count:,} series"
    return ", ".join([*(count_text(*pair) for pair in counts), series])


def _wanted(dumps_needed: int) -> str | None:
    return f"{count_text(dumps_needed, 'more dump')} of the head" if dumps_needed else None
