"""Decisions about alerts, from the forms of the nightly report."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from cli.serve.access.authorization import Scope, Unauthorized
from cli.serve.access.pools import need_all_pools
from cli.serve.page.cells import link
from cli.serve.page.forms import read_form
from cli.serve.page.site import ERRORS, problem_parts, show, to_login
from cli.serve.upkeep.endpoints import describe
from cli.serve.upkeep.jobs import Job
from cli.upkeep.triage import Accept

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
    except Unauthorized:
        return to_login(request)
    except ERRORS as error:
        status, parts = problem_parts(request, error)
        return show(request, "tables", parts, status=status)
    return RedirectResponse(link("/regressions", head=task.head), 303)
