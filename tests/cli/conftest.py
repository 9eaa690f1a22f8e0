"""Command lines run in this process, and a store to ask."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextvars import copy_context
from pathlib import Path

import pytest

from tests.support.command import Outcome, Run
from tests.support.corpus import FARM
from tests.support.nightly_farm import nightly_store
from tests.support.stand_in_service import StandIn, stand_in_service
from tracehouse import Warehouse
from tracehouse.cli.main import main


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that holds the farm; only for reading."""
    path = tmp_path_factory.mktemp("cli") / "farm.store"
    with Warehouse.open(path, create=True) as warehouse:
        warehouse.ingest([FARM])
    return path


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Where a test may make a store of its own."""
    return tmp_path / "own.store"


@pytest.fixture
def farm_copy(store: Path, own: Path) -> Path:
    """A copy of the store that holds the farm, which a test may change."""
    return Path(shutil.copytree(store, own))


@pytest.fixture
def service() -> Iterator[StandIn]:
    """A stand-in for a service, which takes dumps and gives the answers that it is told to."""
    with stand_in_service() as stand_in:
        yield stand_in


@pytest.fixture
def run(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command line through the real entry point."""
    monkeypatch.delenv("TRACEHOUSE_STORE", raising=False)

    def run_(*args: str | Path) -> Outcome:
        try:
            code = copy_context().run(main, [str(arg) for arg in args])  # as a process forgets
        except SystemExit as end:
            code = int(end.code or 0)
        captured = capfdbinary.readouterr()
        return Outcome(code, captured.out, captured.err.decode())

    return run_


@pytest.fixture(scope="session", name="nightly_store")
def _nightly_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the store of tests/support/nightly_farm.py, in which commands store reports."""
    return Path(shutil.copytree(nightly_store(), tmp_path_factory.mktemp("nightly") / "s"))
