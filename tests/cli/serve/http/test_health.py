from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.service import serving
from warehouse.errors import StoreError
from warehouse.inbox.known_dumps import KnownDumps


def obstacles(client: Any) -> dict[str, str]:
    """What /readyz says stands in the way."""
    answer = client.get("/readyz")
    found = {one["reason"]: one["detail"] for one in answer.json().get("obstacles", [])}
    assert answer.status_code == (503 if found else 200)
    return found


def test_a_service_that_runs_is_alive_and_ready(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        assert client.get("/healthz").json() == {"status": "ok"}
        assert obstacles(client) == {}


def test_a_full_disk_stands_in_the_way_but_does_not_end_the_process(tmp_path: Path) -> None:
    with serving(tmp_path, free_bytes=1 << 60) as client:
        found = obstacles(client)
        assert list(found) == ["disk"]
        assert "wanted 1,152,921,504,606,846,976: make room" in found["disk"]
        assert client.get("/healthz").status_code == 200


def test_a_consumer_that_fails_stands_in_the_way(tmp_path: Path) -> None:
    with serving(tmp_path, batch_seconds=3600, batch_dumps=1000) as client:
        found: dict[str, str] = {}
        while not found:  # its first turn may still end well
            client.app.state.service.consumer.problem = StoreError("a.store", "full")
            found = obstacles(client)
        assert found == {"consumer": "a.store: full"}


def test_too_much_that_waits_stands_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(KnownDumps, "backlog_bytes", 1 << 20)
    with serving(tmp_path, backlog_bytes=1 << 20) as client:
        assert obstacles(client) == {
            "backlog": "1,048,576 bytes wait to be indexed, the limit is 1,048,576"
        }


def test_too_many_that_wait_stand_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(KnownDumps, "backlog_dumps", 10_000)
    with serving(tmp_path) as client:
        assert obstacles(client) == {
            "backlog": "10,000 dumps wait to be indexed, the limit is 10,000"
        }


def test_an_audit_log_that_cannot_be_written_stands_in_the_way(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        client.app.state.audit.problem = "No space left on device"
        assert list(obstacles(client)) == ["audit"]


def test_a_store_that_was_deleted_stands_in_the_way(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        file = (tmp_path / "warehouse.duckdb").rename(tmp_path / "elsewhere")
        found = obstacles(client)
        file.rename(tmp_path / "warehouse.duckdb")
        assert "warehouse.duckdb: No such file" in found["store"]
