"""A service that is sent dumps, and access that is limited to a device pool."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from starlette.testclient import TestClient

from tests.support.service import serving
from tracehouse.cli.serve.access.authorization import Access, Bearer, Scope


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A client of one service for all tests of a module; each sends dumps of its own."""
    with serving(tmp_path_factory.mktemp("served") / "store") as client:
        yield client


@pytest.fixture
def limit_to_lab(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From the call on, every client has a token that is limited to the pool "lab"."""
    bearer = Bearer("lab", frozenset(Scope), frozenset({"lab"}))
    return lambda: monkeypatch.setattr(Access, "identify", lambda *_: bearer)
