from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from starlette.responses import PlainTextResponse
from starlette.routing import Route, Router
from starlette.testclient import TestClient

from tests.support.command import ENVIRONMENT
from tests.support.service import serving
from tests.support.waiting import until
from tracehouse.cli.serve import app
from tracehouse.cli.serve.app import LateRoutes, list_routes

_LATE = (
    "tracehouse.cli.serve.page",
    "tracehouse.cli.serve.nights",
    "tracehouse.queries.report.night",
    "tracehouse.queries.explain",
    "svg",
)
_PROGRAM = "import sys, tracehouse.cli.serve.running; print(*sys.modules)"


def _route(path: str) -> Route:
    return Route(path, lambda _: PlainTextResponse(path))


def test_requests_wait_for_routes_that_are_imported_late(monkeypatch: pytest.MonkeyPatch) -> None:
    began, may_end = threading.Event(), threading.Event()

    def begin() -> None:
        began.set()
        may_end.wait(30)

    monkeypatch.setattr(app, "late_routes", lambda: [_route("/late")])
    router = Router([_route("/early")])
    late = LateRoutes(router, begin)
    router.routes.append(late)
    client, answers = TestClient(router), list[int]()
    waiting = threading.Thread(target=lambda: answers.append(client.get("/late").status_code))
    waiting.start()
    assert began.wait(30)
    assert client.get("/early").status_code == 200
    assert answers == []
    may_end.set()
    waiting.join()
    assert answers == [200]
    assert late not in router.routes
    assert client.get("/other").status_code == 404
    assert client.post("/late").status_code == 405


def test_all_routes_are_loaded_in_the_background(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        until(lambda: len(client.app.routes) == len(list_routes()))  # type: ignore[attr-defined]
        assert client.get("/nothing").status_code == 404


def test_the_start_imports_nothing_of_the_late_routes() -> None:
    found = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    imported = found.stdout.split()
    assert [name for name in imported if name.startswith(_LATE)] == []
