"""A store of twelve nights, and what its last ones say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.nightly_farm import nightly_store, pool_of_phones
from tracehouse import Warehouse
from tracehouse.queries.report.night import HeadNight, judge_head
from tracehouse.queries.report.settings import Settings


@pytest.fixture(scope="session")
def nightly_path() -> Path:
    """The store of tests/support/nightly_farm.py; only for reading."""
    return nightly_store()


@pytest.fixture(scope="session")
def nightly(nightly_path: Path) -> Iterator[Warehouse]:
    """The same, open."""
    with Warehouse.open(nightly_path, read_only=True) as store:
        yield store


@pytest.fixture(scope="session")
def judged(nightly: Warehouse) -> Callable[[str], HeadNight]:
    """The night of a build by the usual settings, judged once."""
    return cache(lambda head: judge_head(nightly, head, Settings()))


@pytest.fixture(scope="session")
def pool_store() -> Iterator[Warehouse]:
    """The pool of tests/support/nightly_farm.py; only for reading."""
    with Warehouse.open(pool_of_phones(), read_only=True) as store:
        yield store


@pytest.fixture(scope="session")
def pool_night(pool_store: Warehouse) -> HeadNight:
    """The last night of these devices."""
    return judge_head(pool_store, None, Settings())
