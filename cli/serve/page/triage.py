"""Decisions about alerts, from the forms of the nightly report."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from cli.serve.access.authorization import Scope
from cli.serve.access.pools import need_all_pools
from cli.serve.page.cells import link
from cli.serve.page.forms import read_form
from cli.serve.page.site import ERRORS, show_problem
from cli.serve.upkeep.endpoints import describe
from cli.serve.upkeep.jobs import Job
from cli.upkeep.tasks import Accept

SCOPES = (Scope.TRIAGE, Scope.UPKEEP)
CHOICES = {"accepted": "Accept", "acknowledged": "Acknowledge", "reopened": "Reopen"}


async def triage(request: Request) -> Response:
    """Decide about the `group` of the form, and show the report of its `head` again."""
    try:
        bearer = request.app.state.service.access.need(request, *SCOPES)
        need_all_pools(bearer, "triage")
        form = await read_form(request, "group, state and reason")
        task = Accept(
            reason=form.get("reason", ""),
            groups=tuple(filter(None, [form.get("group")])),
            state=form.get("state", "accepted"),
            head=form.get("head"),
        )
        request.state.what = describe(task)
        job: Job = request.app.state.jobs.begin(bearer, task)
        await job.wait()
        job.result()
    except ERRORS as error:
        return show_problem(request, error)
    return RedirectResponse(link("/regressions", head=task.head), 303)
