"""Command lines run in this process, and a store to ask."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cli.main import main
from tests.support.command import Outcome
from tests.support.corpus import FARM
from tests.support.nightly_farm import nightly_store
from warehouse import Warehouse

Run = Callable[..., Outcome]


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that holds the farm; only for reading."""
    path = tmp_path_factory.mktemp("cli") / "farm.store"
    with Warehouse.open(path, create=True) as warehouse:
        warehouse.ingest([FARM])
    return path


@pytest.fixture
def run(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command line through the real entry point."""
    monkeypatch.delenv("TRACEHOUSE_STORE", raising=False)

    def run_(*args: str | Path) -> Outcome:
        try:
            code = main([str(arg) for arg in args])
        except SystemExit as end:
            code = int(end.code or 0)
        captured = capfdbinary.readouterr()
        return Outcome(code, captured.out, captured.err.decode())

    return run_


@pytest.fixture(scope="session", name="nightly_store")
def _nightly_store() -> Path:
    """The store of tests/support/nightly_farm.py; only for reading."""
    return nightly_store()
