"""The report of a night or of two builds, why an alert is one, decisions, and the feed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl, quote
from xml.etree.ElementTree import Element, SubElement

import pyarrow as pa
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tracehouse.cli.serve.access.authorization import Scope, need_all_pools
from tracehouse.cli.serve.answers.questions import ReportRequest, query_night
from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.jobs import Job
from tracehouse.cli.serve.page.cells import age_text, link
from tracehouse.cli.serve.page.page_request import PageRequest, read_form
from tracehouse.cli.serve.page.site import ERRORS, show_problem
from tracehouse.cli.serve.page.tonight import describe_since
from tracehouse.cli.serve.upkeep import describe
from tracehouse.cli.upkeep.task import Task
from tracehouse.cli.upkeep.triage import POINT, Accept, Note
from tracehouse.queries.explain.document import page_parts as explanation_parts
from tracehouse.queries.explain.explanation import explain_group
from tracehouse.queries.printable import printable
from tracehouse.queries.report.content import Group, Report
from tracehouse.queries.report.html import body_parts
from tracehouse.queries.report.junit import xml_file
from tracehouse.queries.report.night import find_group
from tracehouse.queries.report.nightly import NightKey
from tracehouse.queries.report.outline import notes_on
from tracehouse.queries.report.sentences import split_summary
from tracehouse.queries.report.settings import Settings
from tracehouse.warehouse.regressions.judging import list_heads
from tracehouse.warehouse.store import Store
from tracehouse.warehouse.upkeep.nights import JudgedNight

BUILDS = {"head": "the last build", "base": "those before it, night by night"}
FIELDS = ReportRequest._fields
EXPLAINED = {"head": "the last build"}
SCOPES = (Scope.TRIAGE, Scope.UPKEEP)
CHOICES = {"accepted": "Accept", "acknowledged": "Acknowledge", "reopened": "Reopen"}
_WAIT_SECONDS = 10.0  # for the night with a decision
_ATOM = "http://www.w3.org/2005/Atom"
_NIGHTS = """SELECT n.build, n.summary, max(n.judged_at) AS judged_at
FROM judged_nights AS n
JOIN builds_in_order AS b ON b.build = n.build
GROUP BY ALL
ORDER BY max(b.position) DESC, judged_at DESC
LIMIT 50"""
_Form = Mapping[str, str]


def regressions(request: PageRequest) -> dict[str, Any]:
    """The report of the build in the address (head=), else of the last one (of branch=).

    The report is the stored one, even if its data have changed since; the view says so. With base=,
    these two builds are compared.
    """
    need_all_pools(request.bearer, "this view")
    wanted = ReportRequest.of(request.fields)
    settings = request.nights.settings.of_branch(wanted.branch)
    builds = list_heads(request.store, settings.report.branch)
    if not builds and settings.report.branch is None:
        return {"title": "Regressions", "empty": "No dumps yet: upload some."}
    key, since = wanted.night(request.store, request.nights), ""
    if key:
        report, since = _read_night(request, key, None if wanted.head else settings)
    else:
        report = wanted.compare(request.store, request.nights)
    against = f" against {wanted.base}" if wanted.base else ""
    return {
        **body_parts(report),
        "template": "regressions",
        "title": f"Regressions: {report.head}{against}",
        "as_of": f"{report.head}{against}",
        "since": since,
        "heads": [
            (link("/regressions", head=build, base=wanted.base), build, build == report.head)
            for build in builds[:-31:-1]
        ],
        "why": "/explain" if key else "",
        "triage": CHOICES if key and not request.bearer.scopes.isdisjoint(SCOPES) else {},
        "download": link("/v1/report", head=report.head, base=wanted.base),
    }


def _read_night(request: PageRequest, key: NightKey, branch: Settings | None) -> tuple[Report, str]:
    """A stored night, or one that the request waited for; and what has changed since."""
    night = request.nights.find_stored(request.store, key, branch)
    if night is None:
        return request.nights.report(request.store, key, request.judged), ""
    since = describe_since(request.store, key, night)
    return night.report, since and f"Judged {age_text(night.judged_at)}. {since}"


def explain(request: PageRequest) -> dict[str, Any]:
    """What differs between the two builds of the alert in the address (group=).

    Raises:
        Problem: 400 if the address names no alert.
    """
    need_all_pools(request.bearer, "this view")
    report, group = find_alert(request)
    return {
        **explanation_parts(explain_group(request.store, report, group.id)),
        "template": "explain",
        "notes": notes_on(group, report),
        "alerts": link("/regressions", head=report.head),
        "download": link("/v1/explain", group=group.id, head=report.head, format="html"),
    }


def find_alert(request: PageRequest) -> tuple[Report, Group]:
    """The report and the alert in the address (head=, group=).

    Raises:
        Problem: 400 if the address names no alert.
    """
    group, head = (request.fields.get(name) for name in ("group", "head"))
    if not group:
        raise Problem(400, "group", "name an alert: group=ID, as /regressions lists them")
    key = NightKey.of(request.store, request.nights.settings, head)
    stored = request.nights.find_stored(request.store, key)
    if stored and group in {one.id for one in stored.report.groups}:
        report = stored.report
    else:
        report = request.nights.report(request.store, key, request.judged)
    return report, find_group(report.groups, group, report.head, "explain")


def _form_of_task(
    wanted: str, make: Callable[[_Form], Task], target: Callable[[_Form, pa.Table], str]
) -> Callable[[Request], Awaitable[Response]]:
    """The handler of a form: does the task that the form describes, and leads to an address."""

    async def handle(request: Request) -> Response:
        try:
            bearer = request.app.state.service.access.need(request, *SCOPES)
            need_all_pools(bearer, "triage")
            form = await read_form(request, wanted)
            task = make(form)
            request.state.what = describe(task)
            job: Job = request.app.state.jobs.begin(bearer, task)
            await job.wait()
            address = target(form, job.result())
            if task.name == Accept.name:
                await _await_night(request, form.get("head"))
            return RedirectResponse(address, 303)
        except ERRORS as error:
            return show_problem(request, error)

    return handle


async def _await_night(request: Request, head: str | None) -> None:
    """Wait a little until the night of a build is judged with the newest decisions."""
    nights = request.app.state.service.nights

    def look(reader: Store, judged: JudgedNight | None) -> None:
        nights.report(reader, NightKey.of(reader, nights.settings, head), judged)

    with suppress(*ERRORS):  # the view says what is not judged yet, and what is wrong
        await query_night(request, look, seconds=_WAIT_SECONDS)


def _decision(form: _Form) -> Task:
    return Accept(
        reason=form.get("reason", ""),
        groups=tuple(filter(None, [form.get("group")])),
        state=form.get("state", "accepted"),
        head=form.get("head"),
    )


def _note(form: _Form) -> Task:
    place = dict(parse_qsl(form.get("series", "")))
    return Note(text=form.get("text", ""), on=place | {n: form[n] for n in POINT if form.get(n)})


triage = _form_of_task(
    "group, state and reason",
    _decision,
    lambda form, _: link("/regressions", head=form.get("head")),
)
write_note = _form_of_task(
    "series, build and text", _note, lambda _, rows: f"/notes/{rows['note_id'][0]}"
)


def feed(request: PageRequest) -> Response:
    """The newest judged builds, with their summaries."""
    need_all_pools(request.bearer, "the feed")
    root = Element("feed", xmlns=_ATOM)
    nights = request.store.sql(_NIGHTS).to_pylist()
    _add(root, id="urn:tracehouse:nights", title="Nightly reports")
    _add(root, updated=nights[0]["judged_at"].isoformat() if nights else "1970-01-01T00:00:00Z")
    SubElement(SubElement(root, "author"), "name").text = "tracehouse"
    for night in nights:
        entry = SubElement(root, "entry")
        title = f"{night['build']}: {split_summary(night['summary'])[0]}"
        _add(entry, id=f"urn:tracehouse:night:{quote(night['build'])}", title=title)
        _add(entry, updated=night["judged_at"].isoformat(), summary=night["summary"])
        SubElement(entry, "link", href=link("/regressions", head=night["build"]))
    return Response(xml_file(root), media_type="application/atom+xml")


def _add(parent: Element, **texts: str) -> None:
    for name, text in texts.items():
        SubElement(parent, name).text = printable(text)
