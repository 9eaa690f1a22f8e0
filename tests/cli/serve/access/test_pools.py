from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest
from starlette.testclient import TestClient

from tests.support.nightly_farm import ingest_all, record_build
from tests.support.service import service_of, serving
from tracehouse.cli.serve.access.authorization import ANYONE, Scope, need_all_pools
from tracehouse.cli.serve.access.tokens import create_token
from tracehouse.cli.serve.http.problems import Problem

PATHS = [
    "/",
    "/explore/build_history",
    "/explore/operator_hotspots",
    "/dumps",
    "/v1/queries/coverage",
]


def test_whole_answers_are_for_those_without_a_limit() -> None:
    need_all_pools(ANYONE, "the report")
    with pytest.raises(Problem, match="the report covers all"):
        need_all_pools(ANYONE._replace(pools=frozenset({"lab"})), "the report")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A service that has a device of the pool "lab" and of none else."""
    dumps = record_build(1, device="mine", pool="lab", count=2)
    with serving(ingest_all(tmp_path_factory.mktemp("farm") / "s", dumps)) as client:
        yield client


def get(client: TestClient, path: str, *pools: str) -> tuple[int, str]:
    """Status and text of the answer to a token that is limited to some pools."""
    store, name = service_of(client).store, str(uuid4())
    secret = create_token(store, name, scopes=[Scope.READ], pools=pools)
    answer = client.get(path, headers={"Authorization": f"Bearer {secret}"})
    return answer.status_code, answer.text


@pytest.mark.parametrize("path", PATHS)
def test_a_pool_without_devices_hides_nothing_of_the_others(client: TestClient, path: str) -> None:
    status, text = get(client, path, "lab", "new")
    assert status == 200
    assert "mine" in text


@pytest.mark.parametrize("path", PATHS)
def test_a_token_whose_pools_have_no_dumps_yet_is_told_so(client: TestClient, path: str) -> None:
    status, text = get(client, path, "new")
    assert status == 404
    assert "o dumps yet of the pools that the token may see: new" in text
