from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.stores import MANIFEST
from tests.support.tiny_dumps import tiny_incoming
from tracehouse import Warehouse
from tracehouse.cli.serve.answers.questions import Params, QueryRequest
from tracehouse.cli.serve.http.problems import Problem
from tracehouse.ingest.manifest.models import Manifest
from tracehouse.queries.report.settings import Settings
from tracehouse.warehouse.catalogue.queries import find_query
from tracehouse.warehouse.errors import ParameterError

DEVICES = {"pixel8": "lab", "galaxy": "field", "star": "la*", "loner": None}


@pytest.fixture(scope="module", name="store")
def _store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of four devices, three of them in pools."""
    dumps = []
    for number, (device, pool) in enumerate(DEVICES.items()):
        stated = {**MANIFEST, "device": {"name": device, **({"pool": pool} if pool else {})}}
        manifest = Manifest.model_validate(stated)
        dumps.append(tiny_incoming(number, manifest=manifest))
    store = tmp_path_factory.mktemp("pools") / "store"
    with Warehouse.open(store, create=True) as warehouse:
        warehouse.ingest(dumps)
    return store


def devices(store: Path, params: Params, *pools: str) -> list[str]:
    asked = QueryRequest(find_query("dumps").header, params, frozenset(pools) or None)
    asked.check_pools()
    with Warehouse.open(store, read_only=True) as reader:
        if asked.pools is not None:
            reader.limit_to(asked.pools)
        with asked.answer(reader, Settings()) as rows:
            return sorted(rows.read_all()["device"].to_pylist())


def test_an_unlimited_token_sees_all_pools_and_devices_without_a_pool(store: Path) -> None:
    assert devices(store, {}) == sorted(DEVICES)
    assert devices(store, {"pool": "*"}) == ["galaxy", "pixel8", "star"]


def test_a_token_limited_to_pools_sees_only_those(store: Path) -> None:
    assert devices(store, {}, "lab") == ["pixel8"]
    assert devices(store, {}, "lab", "field") == ["galaxy", "pixel8"]
    assert devices(store, {"pool": "field"}, "lab", "field") == ["galaxy"]
    assert devices(store, {}, "lab", "not there yet") == ["pixel8"]


def test_a_pool_limit_is_not_a_glob(store: Path) -> None:
    assert devices(store, {}, "la*") == ["star"]
    with pytest.raises(Problem, match="limited to lab") as caught:
        devices(store, {"pool": ["lab", "*"]}, "lab")
    assert (caught.value.status_code, caught.value.reason) == (403, "pool")
    with pytest.raises(ParameterError, match="none exist"):
        devices(store, {}, "f*")


def test_a_limited_token_does_not_learn_the_names_of_others(store: Path) -> None:
    for name in ("pixel9", "pixel8"):
        with pytest.raises(
            ParameterError, match=f"'{name}' is not in the store; there are galaxy$"
        ):
            devices(store, {"device": name}, "field")


@pytest.mark.parametrize("name", ["ingest_errors", "event_blocks"])
def test_a_query_of_all_pools_is_forbidden_to_a_limited_token(name: str) -> None:
    with pytest.raises(Problem, match="covers all device pools") as caught:
        QueryRequest(find_query(name).header, {}, frozenset({"lab"})).check_pools()
    assert caught.value.status_code == 403
