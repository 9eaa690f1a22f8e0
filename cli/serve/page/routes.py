"""The addresses of the site."""

from __future__ import annotations

from starlette.routing import BaseRoute, Route

from cli.serve.page.dumps import dump, dumps
from cli.serve.page.fleet import fleet
from cli.serve.page.history import latency, operator
from cli.serve.page.login import login
from cli.serve.page.operators import operators
from cli.serve.page.refused import refused
from cli.serve.page.regressions import regressions
from cli.serve.page.site import style


def routes() -> list[BaseRoute]:
    """One for each view."""
    return [
        Route("/", fleet),
        Route("/latency", latency),
        Route("/operators", operators),
        Route("/operator", operator),
        Route("/regressions", regressions),
        Route("/dumps", dumps),
        Route("/dumps/{sha256:str}", dump),
        Route("/errors", refused),
        Route("/login", login, methods=["GET", "POST"]),
        Route("/style.css", style),
    ]
