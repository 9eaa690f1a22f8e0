"""The addresses of the site."""

from __future__ import annotations

from starlette.routing import Route

from cli.serve.page.dumps import dump, dumps
from cli.serve.page.explain import explain
from cli.serve.page.fleet import fleet
from cli.serve.page.history import latency, operator
from cli.serve.page.login import login, logout
from cli.serve.page.operators import operators
from cli.serve.page.refused import refused
from cli.serve.page.regressions import regressions
from cli.serve.page.site import style, view
from cli.serve.page.sql_box import sql_box

_VIEWS = {
    "/": fleet,
    "/latency": latency,
    "/operators": operators,
    "/operator": operator,
    "/regressions": regressions,
    "/explain": explain,
    "/dumps": dumps,
    "/dumps/{sha256}": dump,
    "/errors": refused,
}
ROUTES = (
    *(Route(path, view(make), include_in_schema=False) for path, make in _VIEWS.items()),
    Route("/sql", sql_box, include_in_schema=False),
    Route("/style.css", style, include_in_schema=False),
    Route("/login", login, methods=["GET", "POST"], include_in_schema=False),
    Route("/logout", logout, methods=["POST"], include_in_schema=False),
)
