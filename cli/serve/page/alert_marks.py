"""Where alerts of the nightly report begin and end on the charts of the site."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tracehouse.cli.serve.page.cells import link
from tracehouse.cli.serve.page.page_request import PageRequest
from tracehouse.queries.report.content import Group, Member, Report
from tracehouse.queries.report.figures import delta_text, member_operator
from tracehouse.queries.report.line_chart import Mark
from tracehouse.queries.report.settings import Settings
from tracehouse.queries.report.stored_nights import last_night

_SERIES = ("model", "backend", "run", "event_name", "delegate_id", "ordinal")


def known_marks(request: PageRequest, rows: Sequence[Mapping[str, Any]]) -> list[list[Mark]]:
    """For each series, its marks from the last nightly report; none before a night is judged.

    A visitor limited to device pools gets no links, as such a visitor cannot open the report.
    """
    night = last_night(request.store, Settings())
    if night is None:
        return [[] for _ in rows]
    return alert_marks(night.report, rows, has_links=request.bearer.pools is None)


def alert_marks(
    report: Report, rows: Sequence[Mapping[str, Any]], *, has_links: bool
) -> list[list[Mark]]:
    """For each series, the marks of the alerts that it is part of; links lead to the report.

    A series of a device is part of an alert of its pool, too.
    """
    places: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        series = [row[name] for name in _SERIES]
        places[row["device"], None, *series].append(number)
        places[None, row["pool"], *series].append(number)
    found: list[list[Mark]] = [[] for _ in rows]
    for group in report.groups:
        href = f"{link('/regressions', head=report.head)}#{group.id}" if has_links else ""
        for member in (*group.members, *group.explains):
            for number in places.get(_key(member), ()):
                found[number] += _marks(group, member, href)
    return [merge_marks([marks]) for marks in found]


def merge_marks(every: Iterable[Sequence[Mark]]) -> list[Mark]:
    """The marks of a chart with several series: an alert has one at a place, that of the first."""
    first: dict[tuple[str, ...], Mark] = {}
    for mark in (mark for marks in every for mark in marks):
        first.setdefault((mark.place, mark.kind, mark.href), mark)
    return list(first.values())


def _key(member: Member) -> tuple[object, ...]:
    pool = member.pool if member.device is None else None
    return member.device, pool, *(getattr(member, name) for name in _SERIES)


def _marks(group: Group, member: Member, href: str) -> Iterator[Mark]:
    name = member_operator(member)
    text = f"{name} {delta_text(member.delta)}, {group.state.label}"
    yield Mark(group.first_bad, text, "bad" if group.direction == "regression" else "good", href)
    if group.fixed_in is not None:
        yield Mark(group.fixed_in, f"{name} is fixed", "good", href)
