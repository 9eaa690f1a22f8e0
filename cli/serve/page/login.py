"""Where a visitor gives a token; cli.serve.access.sessions keeps it in a cookie."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from cli.serve.http.problems import Problem
from cli.serve.page.site import show


def login_form(request: Request, refusal: Problem | None = None, place: str = "/") -> Response:
    """The form, and why the last token was refused."""
    parts: dict[str, Any] = {"title": "Sign in", "place": place, "refusal": refusal}
    return show(request, "login.html.jinja", parts, status=refusal.status_code if refusal else 200)


def login(request: Request) -> Response:
    """The form, which leads where the visitor wanted to go."""
    return login_form(request, place=request.query_params.get("next", "/"))
