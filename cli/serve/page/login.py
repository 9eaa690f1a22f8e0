"""Where a visitor gives a token, which a cookie keeps for this browser session."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from cli.serve.access import Scope
from cli.serve.page.site import show
from cli.serve.problems import Problem

COOKIE = "tracehouse"
_MOST_BYTES = 4096


async def login(request: Request) -> Response:
    """A form; or, when it comes back, the way to where the visitor wanted to go."""
    target = request.query_params.get("next", "/")
    target = target if target.startswith("/") and not target.startswith(("//", "/\\")) else "/"
    if request.method != "POST":
        return show(request, "login.html.jinja", {"title": "Sign in", "refused": ""})
    token = await _token(request)
    request.scope["headers"].append((b"authorization", b"Bearer " + token.encode("latin-1")))
    try:
        request.app.state.service.access.need(Request(request.scope), Scope.READ)
    except Problem as problem:
        parts = {"title": "Sign in", "refused": problem.detail}
        return show(request, "login.html.jinja", parts, status=problem.status_code)
    answer = RedirectResponse(target, HTTPStatus.SEE_OTHER)
    is_secure = request.headers.get("x-forwarded-proto", request.url.scheme) == "https"
    answer.set_cookie(COOKIE, token, httponly=True, samesite="strict", secure=is_secure)
    return answer


async def _token(request: Request) -> str:
    """The token of a form.

    Raises:
        Problem: The form is too long, or no text.
    """
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MOST_BYTES:
            raise Problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", "the form is too long")
    try:
        return parse_qs(body.decode("ascii")).get("token", [""])[0].strip().encode("ascii").decode()
    except UnicodeError as error:
        raise Problem(HTTPStatus.BAD_REQUEST, "malformed", "a token is ASCII") from error
