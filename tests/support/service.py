"""Services for tests: in this process, without a socket; or as users start them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from cli.serve.app import make_app
from cli.serve.service import Service
from cli.serve.settings import ServiceSettings
from tests.support.command import COMMAND, ENVIRONMENT


@contextmanager
def serving(store: Path, **settings: Any) -> Iterator[TestClient]:
    """A client of a service in this process, which indexes at once what it is given."""
    quick = {"batch_dumps": 1, "batch_seconds": 0.05, "free_bytes": 0}
    service = Service(store, ServiceSettings(**{**quick, **settings}))
    app = make_app(service)
    with TestClient(app, "http://127.0.0.1", raise_server_exceptions=False) as client:
        yield client


@contextmanager
def started_service(*args: str | Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A service as users start it, on a port of its own, and its address."""
    with subprocess.Popen(
        [*COMMAND, "serve", "--port", "0", *map(str, args)],
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    ) as process:
        try:
            assert process.stderr
            line = process.stderr.readline()
            assert line.startswith("serving "), line
            yield process, line.split(" at ")[1].strip()
        finally:
            process.kill()
