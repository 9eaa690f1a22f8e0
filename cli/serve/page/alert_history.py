"""The history of an alert's series: operators, or measures such as memory, load time and tokens."""

from __future__ import annotations

from typing import Any

from tracehouse.cli.serve.access.authorization import need_all_pools
from tracehouse.cli.serve.page.alert_marks import alert_marks, merge_marks
from tracehouse.cli.serve.page.cells import PLACE, Row, build_cell, link, pick, with_changes
from tracehouse.cli.serve.page.charts import trend_chart
from tracehouse.cli.serve.page.explain import find_alert
from tracehouse.cli.serve.page.listing import Column, Table, plain_table
from tracehouse.cli.serve.page.notes import add_notes, note_table
from tracehouse.cli.serve.page.page_request import PageRequest
from tracehouse.queries.report.axis import AxisKind
from tracehouse.queries.report.content import Member, Report
from tracehouse.queries.report.figures import (
    delta_text,
    measure_text,
    member_operator,
    member_place,
)
from tracehouse.queries.report.line_chart import COLOURS, Line, LineChart
from tracehouse.queries.report.notes import Note, choose_notes
from tracehouse.queries.report.outline import notes_on
from tracehouse.queries.report.plots import note_mark


def alert_history(request: PageRequest) -> dict[str, Any]:
    """The alert in the address (group=), build by build, as its report (head=) has it."""
    need_all_pools(request.bearer, "this view")
    report, group = find_alert(request)
    unit = group.members[0].unit
    members = [member for member in group.members if member.unit == unit][: len(COLOURS)]
    builds = _builds(report, members)
    notes = notes_on(group, report)
    marks = alert_marks(report, [vars(member) for member in members], has_links=True)
    chart = LineChart(
        group.headline.title,
        "build",
        builds,
        [_line(builds, member) for member in members],
        merge_marks([*marks, list(map(note_mark, notes))]),
        AxisKind(unit),
    )
    left_out = len(group.members) - len(members)
    return {
        "form": None,
        "title": group.headline.title,
        "lead": f"{left_out} more series: see the report." if left_out else "",
        "charts": trend_chart(request, "/history", chart),
        "tables": [*note_table(notes), *(_table(member, notes) for member in members)],
    }


def _builds(report: Report, members: list[Member]) -> list[str]:
    """The builds of the longest history, which ends with the head."""
    longest = max((member.history for member in members), key=len)
    return list(dict.fromkeys([*(point.build for point in longest), report.head]))


def _line(builds: list[str], member: Member) -> Line:
    points = {point.build: point for point in member.history}
    known = [points.get(build) for build in builds]
    values, low, high = (
        [getattr(point, name) if point else None for point in known]
        for name in ("value", "p10", "p90")
    )
    place = pick(vars(member), *PLACE)
    hrefs = [link("/dumps", **place, build=build) if build in points else "" for build in builds]
    return Line(_name(member), values, low, high, hrefs)


def _table(member: Member, notes: list[Note]) -> Table:
    place = pick(vars(member), *PLACE, "unit")
    points = ({**vars(point), **place, "value": point.value} for point in member.history)
    rows = with_changes(points, "value")
    own = choose_notes(notes, [vars(member)])
    return plain_table(_name(member), [*_COLUMNS, *add_notes(own, rows)], rows)


def _name(member: Member) -> str:
    return f"{member_place(member)} · {member_operator(member)}"


def _number(row: Row, name: str) -> str:
    return measure_text(row[name], row["unit"])


_COLUMNS = (
    Column("Build", lambda row: build_cell(row, row["build"])),
    Column("Change", lambda row: delta_text(row["change"]), is_number=True),
    Column("Median", lambda row: _number(row, "value"), is_number=True),
    Column("10th percentile", lambda row: _number(row, "p10"), is_number=True),
    Column("90th percentile", lambda row: _number(row, "p90"), is_number=True),
    Column("Dumps", lambda row: f"{row['dump_count']:,}", is_number=True),
)
