"""Limits of what a request says before its body: bytes of its head, parameters of its address."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from cli.serve.http.problems import Problem, problem_response

HEAD_BYTES = 64 << 10  # largest head
MOST_PARAMETERS = 1_000  # of an address

_REMEDY = "send a longer manifest in a form, and ask for fewer names, or for globs of them"


class HeadTooLongProblem(Problem):
    """The head of a request is above its limit."""

    def __init__(self) -> None:
        detail = f"the head has more than {HEAD_BYTES:,} bytes: {_REMEDY}"
        super().__init__(431, "head_too_long", detail)


class HeadLimits:
    """Refuses requests whose address is above a limit, before anything reads its parameters.

    A connection limits the heads that it receives; requests of agents come without one.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, unless it is refused; the request's state keeps the reason."""
        problem = _find_problem(scope["query_string"]) if scope["type"] == "http" else None
        if problem is None:
            await self._app(scope, receive, send)
            return
        scope["state"]["reason"] = problem.reason
        await problem_response(problem)(scope, receive, send)


def _find_problem(query: bytes) -> Problem | None:
    if len(query) > HEAD_BYTES:
        return HeadTooLongProblem()
    if (count := query.count(b"&") + 1) > MOST_PARAMETERS:
        detail = f"the address has {count:,} parameters, wanted at most {MOST_PARAMETERS:,}"
        return Problem(400, "parameter_count", f"{detail}: ask for globs of names, or in parts")
    return None
