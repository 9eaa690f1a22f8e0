"""Limits of what a request says before its body: its head, its address, and what is parsed of them.

Heads are parsed in the event loop, which answers nobody else meanwhile.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from tracehouse.cli.serve.http.problems import Problem, problem_response

HEAD_BYTES = 64 << 10  # largest head
MOST_PARAMETERS = 1_000  # of an address, or of a statement
COOKIE_BYTES = 8 << 10  # of all cookies, of which other services of the host may have set some
HEADER_BYTES = 2 << 10  # of any other header that is parsed

_LONGEST = {
    b"cookie": COOKIE_BYTES,
    **dict.fromkeys(
        (b"accept", b"authorization", b"content-encoding", b"content-type", b"host",
         b"if-none-match", b"last-event-id", b"origin"),
        HEADER_BYTES,
    ),
}  # fmt: skip

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
        problem = _find_problem(scope) if scope["type"] == "http" else None
        if problem is None:
            await self._app(scope, receive, send)
            return
        scope["state"]["reason"] = problem.reason
        await problem_response(problem)(scope, receive, send)


def _find_problem(scope: Scope) -> Problem | None:
    query, left = scope["query_string"], dict(_LONGEST)
    for name, value in scope["headers"]:
        if name in left:
            left[name] -= len(value)
            if left[name] < 0:
                detail = f"{name.decode()}: more than {_LONGEST[name]:,} bytes: send fewer values"
                return Problem(431, "header_too_long", detail)
    if len(query) > HEAD_BYTES:
        return HeadTooLongProblem()
    if (count := query.count(b"&") + 1) > MOST_PARAMETERS:
        detail = f"the address has {count:,} parameters, wanted at most {MOST_PARAMETERS:,}"
        return Problem(400, "parameter_count", f"{detail}: ask for globs of names, or in parts")
    return None
