"""A store of twelve nights, and what its last ones say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.nightly_farm import ingest_nights
from warehouse import Warehouse


@pytest.fixture(scope="session")
def nightly_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of tests/support/nightly_farm.py; only for reading."""
    return ingest_nights(tmp_path_factory.mktemp("report") / "nightly.store")


@pytest.fixture(scope="session")
def nightly(nightly_path: Path) -> Iterator[Warehouse]:
    """The same, open."""
    with Warehouse.open(nightly_path, read_only=True) as store:
        yield store
