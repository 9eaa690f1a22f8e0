from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from tests.support.service import service_of, serving
from tests.support.waiting import until
from tracehouse.warehouse.errors import StoreError
from tracehouse.warehouse.inbox.accept import KnownDumps


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A client of a service whose consumer waits for dumps that do not come."""
    store = tmp_path_factory.mktemp("store")
    with serving(store, batch_seconds=3600, batch_dumps=1000, backlog_bytes=1 << 20) as client:
        yield client


def obstacles(client: TestClient) -> dict[str, str]:
    """What /readyz says stands in the way."""
    answer = client.get("/readyz")
    found = {one["reason"]: one["detail"] for one in answer.json().get("obstacles", [])}
    assert answer.status_code == (503 if found else 200)
    return found


def test_a_service_that_runs_is_alive_and_ready(client: TestClient) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    assert obstacles(client) == {}


def test_a_full_disk_makes_the_service_unready_but_keeps_it_alive(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = service_of(client)
    full = service.settings.model_copy(update={"free_bytes": 1 << 60})
    monkeypatch.setattr(service, "settings", full)
    found = obstacles(client)
    assert list(found) == ["disk"]
    assert "wanted 1,152,921,504,606,846,976: free some space" in found["disk"]
    assert client.get("/healthz").status_code == 200


def test_a_failing_consumer_makes_the_service_unready(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    consumer, found = service_of(client).consumer, dict[str, str]()
    monkeypatch.setattr(consumer, "problem", None)
    while not found:  # its first turn may still end well
        consumer.problem = StoreError("a.store", "full")
        found = obstacles(client)
    assert found == {"consumer": "a.store: full"}


def test_a_problem_with_storing_dumps_is_reported_everywhere(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = StoreError("a.store", "the disk is <full>")
    consumer = service_of(client).consumer
    until(lambda: consumer.is_caught_up and not consumer.problem)
    monkeypatch.setattr(consumer, "problem", problem)
    alive = client.get("/healthz")
    assert (alive.status_code, alive.json()["problem"]) == (200, str(problem))
    assert client.get("/v1/status").json()[0]["service_problem"] == str(problem)
    page = client.get("/dumps").text
    assert "Nothing new is stored at the moment. a.store: the disk is &lt;full&gt;" in page


@pytest.mark.parametrize(
    ("figure", "waiting", "problem"),
    [
        ("backlog_bytes", 1 << 20, "1,048,576 bytes wait to be indexed, the limit is 1,048,576"),
        ("backlog_dumps", 10_000, "10,000 dumps wait to be indexed, the limit is 10,000"),
    ],
)
def test_a_long_backlog_makes_the_service_unready(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, figure: str, waiting: int, problem: str
) -> None:
    monkeypatch.setattr(KnownDumps, figure, waiting)
    assert obstacles(client) == {"backlog": problem}
    monkeypatch.setattr(KnownDumps, figure, waiting - 1)
    assert obstacles(client) == {}


def test_an_unwritable_audit_log_makes_the_service_unready(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = client.app.state.audit  # type: ignore[attr-defined]
    monkeypatch.setattr(audit, "problem", "No space left on device")
    assert list(obstacles(client)) == ["audit"]


def test_a_store_that_was_deleted_stands_in_the_way(client: TestClient) -> None:
    store = service_of(client).store
    file = (store / "warehouse.duckdb").rename(store / "elsewhere")
    found = obstacles(client)
    file.rename(store / "warehouse.duckdb")
    assert "warehouse.duckdb: No such file" in found["store"]
