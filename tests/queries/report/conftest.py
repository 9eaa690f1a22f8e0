"""A store of twelve nights, and what its last ones say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from queries.report.night import HeadNight, judge_head
from queries.report.settings import Settings
from tests.support.nightly_farm import ingest_all, nightly_store, record_build
from warehouse import Warehouse


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
def pool_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    """Six devices of a pool, with too few dumps each; relu is 10 % slower on them from b8 on."""
    dumps = [
        dump
        for number in range(10)
        for device in range(6)
        for dump in record_build(
            number,
            {"native_call_relu.out": 1.1 if number >= 8 else 1.0},
            device={"name": f"phone-{device}", "pool": "phones"},
            count=4,
        )
    ]
    path = ingest_all(tmp_path_factory.mktemp("pool") / "pool.store", dumps)
    with Warehouse.open(path, read_only=True) as store:
        yield store


@pytest.fixture(scope="session")
def pool_night(pool_store: Warehouse) -> HeadNight:
    """The last night of these devices."""
    return judge_head(pool_store, None, Settings())
