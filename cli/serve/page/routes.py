"""The addresses of the site."""

from __future__ import annotations

from starlette.routing import Route

from cli.serve.page.assets import SCRIPTS, script, style
from cli.serve.page.charts import chart_file
from cli.serve.page.dumps import dump, dumps
from cli.serve.page.fleet import fleet
from cli.serve.page.history import latency, operator
from cli.serve.page.login import login, logout
from cli.serve.page.operators import operators
from cli.serve.page.refused import refused
from cli.serve.page.regressions import regressions
from cli.serve.page.site import view
from cli.serve.page.sql_box import sql_box
from cli.serve.page.triage import triage

_VIEWS = {
    "/": fleet,
    "/latency": latency,
    "/operators": operators,
    "/operator": operator,
    "/regressions": regressions,
    "/dumps": dumps,
    "/dumps/{sha256}": dump,
    "/errors": refused,
}
_CHARTS = {"/latency.svg": latency, "/operator.svg": operator}
ROUTES = (
    *(Route(path, view(make), include_in_schema=False) for path, make in _VIEWS.items()),
    Route("/regressions", triage, methods=["POST"], include_in_schema=False),
    *(
        Route(path, view(chart_file(make)), include_in_schema=False)
        for path, make in _CHARTS.items()
    ),
    Route("/sql", sql_box, include_in_schema=False),
    Route("/style.css", style, include_in_schema=False),
    *(Route(path, script, include_in_schema=False) for path in SCRIPTS),
    Route("/login", login, methods=["GET", "POST"], include_in_schema=False),
    Route("/logout", logout, methods=["POST"], include_in_schema=False),
)
