"""The first view: the last night with its alerts, then the fleet: devices, health and builds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.cli.serve.page.answer_table import answer_table
from tracehouse.cli.serve.page.cells import Cell, age_text, history_link, link, pick
from tracehouse.cli.serve.page.listing import Column, Table
from tracehouse.cli.serve.page.page_request import PageRequest
from tracehouse.queries.drawing.bars import draw_coverage
from tracehouse.queries.report.change import Change, change_of_group
from tracehouse.queries.report.content import Group, Member, Report, is_measure
from tracehouse.queries.report.figures import count_text, name_text
from tracehouse.queries.report.nightly import LastNight, NightKey, last_night
from tracehouse.queries.report.outline import Tally, commits_url, sections
from tracehouse.queries.report.sensitivity import SensitivitySummary
from tracehouse.queries.report.sentences import lead_text, split_summary
from tracehouse.queries.report.settings import Settings, SettingsError
from tracehouse.queries.report.tables import ChangeTable
from tracehouse.warehouse.catalogue.queries import find_query
from tracehouse.warehouse.errors import QueryError
from tracehouse.warehouse.queryable import Queryable

NEWEST = 20  # builds in a coverage
_RELOAD_SECONDS = 10  # until an empty store is looked at again
FEW = 20  # devices, of which all are shown
FIELDS = ("sort", "page")
_SHOWN = {  # columns of device_health, with their names here
    "device": "device", "problems": "problems", "last_build": "last_build",
    "builds_behind": "builds_behind", "last_ingested_at": "last_upload", "pool": "pool",
    "dump_count": "dump_count", "refused_count": "refused_count",
}  # fmt: skip
MOST, CARDS = 12, 3  # alerts of a list, and cards
_SINCE = "SELECT count(*) AS n FROM dumps WHERE ingested_at > $judged_at"
_KNOWN = "Also known"


def fleet(request: PageRequest) -> dict[str, Any]:
    """The last night, unless the fleet is filtered; then its devices."""
    builds = request.rows("page_builds")
    if not builds:
        return _nothing(request)
    whole, *builds = builds
    devices = request.table("device_health")
    if "device" in request.filters:  # which must not change what they are compared with
        others = request.table("device_health", device=None)
        devices = others.filter(pc.is_in(others["device"], value_set=devices["device"]))
    late = pc.sum(pc.greater(devices["builds_behind"], 0)).as_py() or 0
    counts = [
        (whole["device_count"], "device", ""),
        (len(builds), "build", ""),
        (whole["model_count"], "program", ""),
        (whole["dump_count"], "dump", ""),
        (pc.sum(devices["event_count"]).as_py(), "event", ""),
        (late, "device", " without the newest build"),
    ]
    is_whole = not request.filters and request.bearer.pools is None
    return {
        **(night_parts(request) if is_whole else {}),
        "template": "tonight",
        "title": "Fleet",
        "tiles": [
            ("warn" if rest else "", f"{count:,}", f"{noun}{'' if count == 1 else 's'}{rest}")
            for count, noun, rest in counts
            if count
        ],
        "tables": _devices(request, devices, [row["build"] for row in builds]),
    }


def _nothing(request: PageRequest) -> dict[str, Any]:
    """The first steps; with filters, the way back."""
    if request.filters:
        return {"title": "Fleet", "empty": "No dumps pass these filters: widen them."}
    return {"template": "empty", "title": "No dumps yet", "reload_seconds": _RELOAD_SECONDS}


def _devices(request: PageRequest, devices: pa.Table, builds: Sequence[str]) -> list[Table]:
    """The devices, those with problems first; of a large fleet, only those with problems."""
    newest, count = builds[-NEWEST:], devices.num_rows
    if is_large := count > FEW:
        devices = devices.filter(pc.greater(devices["problem_count"], 0))
    models = dict(
        zip(devices["device"].to_pylist(), devices["model_count"].to_pylist(), strict=True)
    )
    counts: dict[str, dict[str, int]] = {device: {} for device in models}
    for row in request.rows("page_coverage", build=newest, shown=list(models) or [""]):
        counts[row["device"]][row["build"]] = row["model_count"]
    squares = Column(
        "Newest builds",
        lambda row: Cell(
            "",
            picture=draw_coverage(
                [(build, counts[row["device"]].get(build, 0)) for build in newest],
                models[row["device"]],
            ),
        ),
        doc="A square for each build, the newest on the right: full if all programs were recorded",
        room="p2",
    )
    header = find_query("device_health").header
    shown = answer_table(
        request, header, devices.select(list(_SHOWN)).rename_columns(_SHOWN), [squares]
    )
    title = "Devices with problems" if is_large else "Devices"
    said = f"All {count_text(count, 'device')}" if is_large else "All that is known of them"
    more = Cell(said, link("/explore/device_health", **request.filters))
    return [replace(shown.table, title=title, more=more, lead=shown.common)]


class Alert(NamedTuple):
    """An alert with its costliest change, and links to its details: address and text."""

    group: Group
    change: Change
    links: list[tuple[str, str]]


class Part(NamedTuple):
    """Alerts with the same next step; few are cards, others rows of a table."""

    title: str
    cards: list[Alert]
    rows: list[Change]
    table: ChangeTable
    more: int


def night_parts(request: PageRequest) -> dict[str, Any]:
    """The last stored night, for the template; a note that none is stored before one is judged."""
    try:
        settings, problem = request.nights.settings, ""
    except SettingsError as error:  # the view stays, without their branch
        settings, problem = Settings(), str(error)
    night = last_night(request.store, settings)
    if night is None:
        return {"night": None}
    report = night.report
    heading, rest = split_summary(report.summary)
    return {
        "night": report,
        "heading": heading,
        "rest": rest,
        "compared": lead_text(report),
        "tally": Tally("operator", report.tally),
        "judged": f"judged {age_text(night.judged_at)}",
        "since": problem or _since(request.store, settings, night),
        "whole": link("/regressions", head=report.head),
        "parts": list(_parts(report)),
        "limits": _limits(report),
    }


def _parts(report: Report) -> Iterator[Part]:
    for section in sections(report):
        alerts = [_alert(report, group) for group in section.groups[:MOST]]
        table = ChangeTable.of([alert.change for alert in alerts])
        is_few = len(section.groups) <= CARDS and section.title != _KNOWN
        cards, rows = (alerts, []) if is_few else ([], [*table.changes, *table.folded])
        if alerts:
            yield Part(section.title, cards, rows, table, len(section.groups) - len(alerts))


def _since(store: Queryable, settings: Settings, night: LastNight) -> str:
    """A note on changes since the night was judged; empty without any."""
    try:
        return describe_since(store, NightKey.of(store, settings, None), night)
    except QueryError as error:
        return str(error)


def describe_since(store: Queryable, key: NightKey, night: LastNight) -> str:
    """What has changed since a night was judged, whose key would now be another; empty if none."""
    if key == night.key:
        return ""
    ((count,),) = store.sql(_SINCE, {"judged_at": night.judged_at}).to_pydict().values()
    dumps = f"{count_text(count, 'dump')} {'has' if count == 1 else 'have'} arrived since"
    if key.build != night.key.build:
        unjudged = f"the night of {name_text(key.build)} is not judged yet."
        return f"{dumps}, and {unjudged}" if count else f"{unjudged[0].upper()}{unjudged[1:]}"
    if key.inputs == night.key.inputs:
        return "The settings have changed since."
    if count:
        return f"{dumps} and {'is' if count == 1 else 'are'} not judged yet."
    return "Dumps, decisions or refusals have changed since and are not judged yet."


def _limits(report: Report) -> list[tuple[str, str]]:
    """What the night could not see: text and address of each; what is zero is left out."""
    coverage, whole = report.coverage, link("/regressions", head=report.head)
    seen = SensitivitySummary.of(report.sensitivity)
    missing, refused = len(coverage.missing), len(report.refused)
    evidence = f"{whole}#evidence"
    found = [
        (seen.blind, f"Changes could hide on {seen.share(seen.blind)}", evidence),
        (missing, f"{count_text(missing, 'recording')} missing", evidence),
        (refused, f"{count_text(refused, 'file')} refused", "/explore/ingest_errors"),
    ]
    return [(text, href) for count, text, href in found if count]


def _alert(report: Report, group: Group) -> Alert:
    first = group.members[0]
    href = f"{link('/regressions', head=report.head)}#{group.id}"
    builds = {"base": group.last_good, "head": group.first_bad} if group.last_good else {}
    links = [
        (link("/explain", group=group.id, head=report.head), "Why"),
        (_history(first), "History"),
        (link("/compare", **builds, **_place(first)) if builds else "", "Compare"),
        (_timelines(group, first), "Timelines"),
        (commits_url(group, report), "Commits"),
        (href, "Details"),
    ]
    change = change_of_group(group)._replace(href=href)
    return Alert(group, change, [pair for pair in links if pair[0]])


def _place(member: Member) -> dict[str, str | None]:
    """The filters of a member's series: its device, or its whole pool."""
    row = {name: getattr(member, name) for name in ("device", "pool", "model", "backend")}
    return row | {"pool": None} if member.device else row


def _history(member: Member) -> str:
    """The address of the operator over the builds; empty for a measure, which is under Why."""
    if is_measure(member):
        return ""
    operator = pick(vars(member), "event_name", "delegate_id", "ordinal")
    return history_link(**operator, **_place(member))


def _timelines(group: Group, member: Member) -> str:
    """The address of a median run of both builds; empty if there is no earlier build."""
    if group.last_good is None:
        return ""
    builds = {"base": group.last_good, "head": group.first_bad}
    event = {"event": member.delegate_id or member.event_name, "ordinal": member.ordinal}
    return link("/timelines", **builds, run=member.run, **event, **_place(member))
