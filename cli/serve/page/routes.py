"""The addresses of the site."""

from __future__ import annotations

from starlette.routing import BaseRoute, Route

from cli.serve.page.dumps import dump, dumps
from cli.serve.page.fleet import fleet
from cli.serve.page.history import latency, operator
from cli.serve.page.login import login, logout
from cli.serve.page.operators import operators
from cli.serve.page.refused import refused
from cli.serve.page.regressions import regressions
from cli.serve.page.site import style
from cli.serve.page.sql_box import sql_box


def routes() -> list[BaseRoute]:
    """The routes of the site."""
    views = {
        "/": fleet,
        "/latency": latency,
        "/operators": operators,
        "/operator": operator,
        "/regressions": regressions,
        "/dumps": dumps,
        "/dumps/{sha256}": dump,
        "/errors": refused,
        "/sql": sql_box,
        "/style.css": style,
    }
    return [
        *(Route(path, view, include_in_schema=False) for path, view in views.items()),
        Route("/login", login, methods=["GET", "POST"], include_in_schema=False),
        Route("/logout", logout, methods=["POST"], include_in_schema=False),
    ]
