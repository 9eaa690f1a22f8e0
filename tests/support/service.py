"""Services for tests in this process, without a socket."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from cli.serve.app import make_app
from cli.serve.service import Service
from cli.serve.settings import ServiceSettings
from tests.support.store_template import copy_new_store


@contextmanager
def serving(store: Path, **settings: Any) -> Iterator[TestClient]:
    """A client of a service in this process, which indexes at once what it is given."""
    quick = {"batch_dumps": 1, "batch_seconds": 0.05, "free_bytes": 0}
    copy_new_store(store)
    service = Service(store, ServiceSettings(**{**quick, **settings}))
    app = make_app(service)
    with TestClient(app, "http://127.0.0.1", raise_server_exceptions=False) as client:
        yield client
