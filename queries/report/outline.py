"""The parts of a report that its forms share: its groups sorted by what to do, and its verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from queries.report.figures import cost_text, count_text
from queries.report.sight import Sight, join_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queries.report.content import Group, Report, Sensitivity, Verdict

STATES = {
    "new": "suspect",
    "confirmed": "confirmed",
    "acknowledged": "acknowledged",
    "accepted": "accepted",
    "fixed": "fixed",
}
_SETTLED = {"acknowledged", "accepted", "fixed"}
SIGNS = {"regression": "▲", "improvement": "▼"}


class Outline(NamedTuple):
    """The groups of a report by what to do about them, each part in the report's order."""

    failures: list[Group]
    environment: list[Group]
    suspects: list[Group]
    improvements: list[Group]
    settled: list[Group]


def outline(report: Report) -> Outline:
    """Sort the groups of a report; see `sort_groups`."""
    return sort_groups(report.groups)


def sort_groups(groups: Sequence[Group]) -> Outline:
    """Sort groups by what to do about them.

    Failures are regressions that are confirmed, environment those of them that came with another
    environment, suspects those that are new; settled is what somebody works on or accepted, and
    what is fixed.
    """
    parts = Outline([], [], [], [], [])
    for group in groups:
        if group.state in _SETTLED:
            parts.settled.append(group)
        elif group.direction == "improvement":
            parts.improvements.append(group)
        elif group.state == "new":
            parts.suspects.append(group)
        else:
            (parts.environment if group.is_of_environment else parts.failures).append(group)
    return parts


def find_verdict(parts: Outline, sensitivity: Sequence[Sensitivity]) -> Verdict:
    """The verdict of a report: the worst that its groups say, else how much it could have seen."""
    if parts.failures:
        return "regressions"
    if parts.environment:
        return "other_environment"
    if parts.suspects:
        return "suspects"
    if not any(row.judged_count for row in sensitivity):
        return "not_enough_data"
    return "blind" if any(row.is_blind for row in sensitivity) else "clear"


def verdict_text(report: Report) -> str:
    """The verdict in a few words, with how many groups make it."""
    parts, seen = outline(report), Sight.of(report.sensitivity)
    texts = {
        "regressions": count_text(len(parts.failures), "regression"),
        "other_environment": f"{count_text(len(parts.environment), 'regression')} "
        "with another environment",
        "suspects": f"{count_text(len(parts.suspects), 'suspect')}, nothing confirmed",
        "blind": f"Blind on {seen.share(seen.blind)}: {seen.limits}",
        "clear": f"Nothing got slower{seen.reach}",
        "not_enough_data": join_first("Not enough data", report.coverage.too_few),
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
