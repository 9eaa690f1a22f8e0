"""Login of browsers: a token in a cookie that no script reads and no other site sends."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tracehouse.cli.serve.access.authorization import COOKIE, Unauthorized, check_origin
from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.page.forms import read_form
from tracehouse.cli.serve.page.site import show

_SECONDS = 30 * 24 * 3600  # a session


async def login(request: Request) -> Response:
    """The login form, or the answer to it: a cookie with its `token`, and the way to its `next`."""
    if request.method != "POST":
        return _show_form(request, request.query_params.get("next", "/"))
    check_origin(request, is_cookie=False)
    form = await read_form(request, "token=SECRET")
    place, token = form.get("next", "/"), form.get("token", "").strip()
    try:
        request.state.bearer = request.app.state.service.access.bearer_of(token)
    except Unauthorized as problem:
        request.state.reason = problem.reason
        return _show_form(request, place, problem)
    answer = RedirectResponse(_own_place(place), 303)
    answer.set_cookie(
        COOKIE,
        token,
        max_age=_SECONDS,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return answer


async def logout(request: Request) -> Response:
    """Delete the cookie."""
    check_origin(request, is_cookie=False)
    answer = RedirectResponse("/", 303)
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return answer


def _show_form(request: Request, place: str, refusal: Problem | None = None) -> Response:
    parts: dict[str, Any] = {"title": "Sign in", "place": place, "refusal": refusal}
    return show(request, "login", parts, status=refusal.status_code if refusal else 200)


def _own_place(path: str) -> str:
    r"""The path, if it is in this site: to browsers, //host and /\host are other sites."""
    is_own = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if is_own else "/"
