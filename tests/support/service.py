"""Services for tests in this process, without a socket."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from starlette.testclient import TestClient

from tests.support.layers import GUARD
from tests.support.store_template import copy_new_store
from tests.support.waiting import DEADLINE_SECONDS, until
from tracehouse.cli.serve.app import make_app
from tracehouse.cli.serve.nights import Nights
from tracehouse.cli.serve.page import site
from tracehouse.cli.serve.service import Service
from tracehouse.cli.serve.settings import ServiceSettings
from tracehouse.queries.report.nightly import NightKey, nightly_report, pack_night
from tracehouse.warehouse.engine.store_checks import seal_of
from tracehouse.warehouse.load import children
from tracehouse.warehouse.load.children import DecodingChild, DecodingChildren
from tracehouse.warehouse.opening.snapshots import find_snapshots
from tracehouse.warehouse.upkeep.nights import JudgedNight


class _KeptChildren(DecodingChildren):
    """Children that decode for one service after the other, as each takes long to start."""

    def one(self) -> AbstractContextManager[DecodingChild]:
        """A child, which a store test must not use even if another test started it."""
        GUARD.require("system", "decodes in a process")
        return super().one()

    def close(self) -> None:
        """Leave the children for the next service."""


@cache
def kept_children() -> DecodingChildren:
    """The children of all services of this process."""
    kept = _KeptChildren()
    atexit.register(DecodingChildren.close, kept)
    return kept


def judge_here(nights: Nights, build: str) -> JudgedNight:
    """The night of a build, judged in this process, which takes less time than to start another."""
    consumer = nights._consumer
    with consumer.memory.raise_limit(), consumer.readers.lend() as reader:
        key = NightKey.of(reader, nights.settings, build)
        return pack_night(key, nightly_report(reader, nights.settings, head=build))


@contextmanager
def serving(store: Path, *, has_judges: bool = False, **settings: Any) -> Iterator[TestClient]:
    """A client of a service in this process, which indexes dumps at once.

    Unless it has processes that judge, nights are judged here. Views wait until they are judged.
    """
    quick = {"batch_dumps": 1, "batch_seconds": 0.05, "free_bytes": 0}
    copy_new_store(store)
    judge = nullcontext() if has_judges else patch.object(Nights, "_judge", judge_here)
    with (
        patch.object(children, "DecodingChildren", kept_children),
        patch.object(site, "WAIT_SECONDS", DEADLINE_SECONDS),
        judge,
    ):
        app = make_app(Service(store, ServiceSettings(**{**quick, **settings})))
        with TestClient(app, "http://127.0.0.1", raise_server_exceptions=False) as client:
            yield client


def service_of(client: TestClient) -> Service:
    """The service that a client asks."""
    service: Service = client.app.state.service  # type: ignore[attr-defined]
    return service


def await_snapshot(client: TestClient) -> None:
    """Wait for a snapshot of the service's store, and its seal, which is written last."""
    store = service_of(client).store
    until(lambda: any(seal_of(snapshot.path).exists() for snapshot in find_snapshots(store)))


def sign_in(service: tuple[TestClient, dict[str, str]], name: str) -> TestClient:
    """The client of a service, signed in with the token of this name."""
    client, secrets = service
    client.cookies.clear()
    client.post("/login", data={"token": secrets[name]}, follow_redirects=False)
    return client
