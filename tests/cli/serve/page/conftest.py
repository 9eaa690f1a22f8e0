"""Services with the nightly farm, and with a farm of hostile names."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from starlette.testclient import TestClient

from tests.support.nightly_farm import ingest_all, nightly_store, record_build
from tests.support.service import serving
from tests.support.strange_names import NAMES
from tests.tools.benchmarks.scale import fill
from tracehouse.cli.serve.access.authorization import Scope
from tracehouse.cli.serve.access.tokens import create_token

EVIL = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>" + "|".join(NAMES[:8])


@pytest.fixture(scope="module")
def service(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[TestClient, dict[str, str]]]:
    """A client of a service of the nightly farm, and the secrets of its tokens."""
    store = Path(shutil.copytree(nightly_store(), tmp_path_factory.mktemp("triage") / "s"))
    scopes = {"reader": [Scope.READ], "lead": [Scope.READ, Scope.TRIAGE]}
    secrets = {name: create_token(store, name, scopes=some) for name, some in scopes.items()}
    with serving(store) as client:
        yield client, secrets


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A service of the nightly farm; nothing is uploaded to it."""
    store = shutil.copytree(nightly_store(), tmp_path_factory.mktemp("site") / "s")
    with serving(store) as client:
        yield client


@pytest.fixture(scope="module")
def wide_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A service of twelve devices in two pools; device-12 lacks the newest of three builds."""
    store = tmp_path_factory.mktemp("wide") / "s"
    fill(store, 12, 2, 3, 1, 4)
    late = "(SELECT dump_id FROM dumps WHERE device_id = 12 AND build_id = 3)"
    with duckdb.connect(str(store / "warehouse.duckdb")) as connection:
        connection.execute("UPDATE devices SET pool = 'pool-' || device_id % 2")
        for table in ("event_stats", "runs", "dumps"):
            connection.execute(f"DELETE FROM {table} WHERE dump_id IN {late}")  # noqa: S608
    with serving(store) as client:
        yield client


@pytest.fixture(scope="module")
def evil_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A service where every name is hostile."""
    name = EVIL.replace("\0", "")
    dumps = record_build(
        1, {f"native_call_{name}.out": 1.0}, device=name, model=name, count=2, pool=name
    )
    store = ingest_all(tmp_path_factory.mktemp("evil") / "s", dumps)
    with serving(store) as client:
        yield client


@pytest.fixture
def sick_site(tmp_path: Path) -> Iterator[TestClient]:
    """A service of three devices of each of two pools; device-1 is hot and refused, never too."""
    fill(tmp_path / "s", 6, 2, 3, 1, 2)
    with duckdb.connect(str(tmp_path / "s" / "warehouse.duckdb")) as connection:
        connection.execute("UPDATE devices SET pool = 'pool-' || device_id % 2")
        connection.execute(
            """UPDATE dumps SET manifest =
            '{"run": {"temperature_c": ' || if(device_id = 1, 44, 31) || '}}'"""
        )
        connection.execute(
            """INSERT INTO ingest_errors BY NAME SELECT i || '.etdp' AS source,
            'truncated' AS reason, '' AS detail, now() AS refused_at,
            '{"device": {"name": "' || if(i < 6, 'device-1', 'never') || '", "pool": "pool-1"}}'
            AS manifest FROM range(9) r(i)"""
        )
    with serving(tmp_path / "s") as client:
        yield client
