"""The stores of tests/support/nightly_farm.py, open; only for reading."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.nightly_farm import nightly_store, pool_of_phones
from tracehouse import Warehouse


@pytest.fixture(scope="session")
def nightly() -> Iterator[Warehouse]:
    """Two devices and twelve nights."""
    with Warehouse.open(nightly_store(), read_only=True) as store:
        yield store


@pytest.fixture(scope="session")
def pool_store() -> Iterator[Warehouse]:
    """Six devices of a pool."""
    with Warehouse.open(pool_of_phones(), read_only=True) as store:
        yield store
