"""Decisions about alerts and notes on points, from the forms of the page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tracehouse.cli.serve.access.authorization import Scope, need_all_pools
from tracehouse.cli.serve.answers.questions import query_night
from tracehouse.cli.serve.page.cells import link
from tracehouse.cli.serve.page.forms import read_form
from tracehouse.cli.serve.page.site import ERRORS, show_problem
from tracehouse.cli.serve.upkeep.endpoints import describe
from tracehouse.cli.serve.upkeep.jobs import Job
from tracehouse.cli.upkeep.store_task import Task
from tracehouse.cli.upkeep.triage import POINT, Accept, Note
from tracehouse.queries.report.stored_nights import NightKey
from tracehouse.warehouse.store import Store
from tracehouse.warehouse.upkeep.nights import JudgedNight

if TYPE_CHECKING:
    import pyarrow as pa

SCOPES = (Scope.TRIAGE, Scope.UPKEEP)
CHOICES = {"accepted": "Accept", "acknowledged": "Acknowledge", "reopened": "Reopen"}
_WAIT_SECONDS = 10.0  # for the night with a decision
_Form = Mapping[str, str]


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
