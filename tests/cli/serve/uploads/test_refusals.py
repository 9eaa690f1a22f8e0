"""Refused uploads are on record like refused files, and after a rebuild, too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.support.service import service_of, serving
from tests.support.stores import MANIFEST
from tests.support.tiny_dumps import tiny_dump
from tests.support.uploads import await_state, new_dump, record_of, send, send_batch, sha256_of
from tests.support.waiting import until
from tracehouse.warehouse.upkeep.rebuild import rebuild_store

pytestmark = pytest.mark.system


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with serving(tmp_path / "store", max_dump_bytes=1 << 16) as client:
        yield client


def errors(client: TestClient) -> list[dict[str, Any]]:
    return list(client.get("/v1/queries/ingest_errors").json())


def await_errors(client: TestClient, count: int) -> list[tuple[str, str, bool]]:
    """Source, reason and state of each refusal, once there are so many."""
    until(lambda: len(errors(client)) == count)
    return [(row["source"], row["reason"], row["is_resolved"]) for row in errors(client)]


@pytest.mark.smoke
def test_a_truncated_upload_is_on_record_like_a_refused_file(client: TestClient) -> None:
    dump = new_dump()
    cut = dump[:7]
    assert send(client, cut).json()["reason"] == "truncated"

    name = f"{sha256_of(cut)[:16]}.etdp"
    assert await_errors(client, 1) == [(name, "truncated", False)]
    (row,) = errors(client)
    assert (row["sha256"], row["byte_offset"]) == (sha256_of(cut), 7)
    (status,) = client.get("/v1/status").json()
    assert status["refused"] == 1
    assert name in client.get("/explore/ingest_errors").text
    assert client.get(f"/v1/dumps/{sha256_of(cut)}").json()["state"] == "quarantined"


def test_an_upload_under_another_hash_is_resolved_by_the_right_one(client: TestClient) -> None:
    dump, stated = new_dump(), json.dumps(MANIFEST).encode()
    named = {"sha256": sha256_of(dump), "name": "run.etdp"}
    send_batch(client, [record_of(dump + b"\0", stated, **named)])
    assert await_errors(client, 1) == [("run.etdp", "sha256", False)]
    send_batch(client, [record_of(dump, stated, **named)])
    await_state(client, dump)
    assert await_errors(client, 1) == [("run.etdp", "sha256", True)]


def test_a_conflict_is_settled_when_the_dump_comes_as_it_is_known(client: TestClient) -> None:
    dump = new_dump()
    send(client, dump)
    await_state(client, dump)
    assert send(client, dump, {**MANIFEST, "build": "other"}).status_code == 409
    name = f"{sha256_of(dump)[:16]}.etdp"
    assert await_errors(client, 1) == [(name, "conflict", False)]
    assert "build" in errors(client)[0]["detail"]
    assert errors(client)[0]["device"] == "pixel8"
    assert send(client, dump).status_code == 200
    until(lambda: errors(client)[0]["reason"] == "settled_conflict")


def test_large_uploads_and_bad_manifests_are_on_record(client: TestClient) -> None:
    send(client, bytes(1 << 17))
    send(client, new_dump(), {"device": "d"})
    send(client, b"no dump at all" * 9)
    found = await_errors(client, 3)
    assert [reason for _, reason, _ in found] == ["too_large", "manifest", "bad_identifier"]
    devices = [row["device"] for row in errors(client)]
    assert devices == [None, None, "pixel8"]  # a manifest that is bad or was not read names none


def test_dumps_of_a_batch_and_a_malformed_batch_are_on_record(client: TestClient) -> None:
    stated = json.dumps(MANIFEST).encode()
    records = [record_of(b"y" * 99, stated, name="bad.etdp"), record_of(bytes(1 << 17), stated)]
    assert send_batch(client, [*records, b"nonsense\n"]).status_code == 400
    assert await_errors(client, 3) == [
        ("bad.etdp", "bad_identifier", False),
        ("upload", "too_large", False),
        ("upload", "record", False),
    ]


def test_a_deferred_upload_is_not_on_record(client: TestClient) -> None:
    service_of(client).settings.__dict__["free_bytes"] = 1 << 60
    assert send(client, new_dump()).status_code == 507
    service_of(client).settings.__dict__["free_bytes"] = 0
    send(client, b"no dump")
    assert len(await_errors(client, 1)) == 1


def test_refusals_survive_the_end_of_the_service_and_a_rebuild(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with serving(store, batch_seconds=3600, batch_dumps=1000) as client:
        until(lambda: service_of(client).consumer.is_caught_up)
        send(client, b"no dump")
        send(client, tiny_dump(1))
    with serving(store) as client:
        before = errors(client)
        assert [(row["reason"], row["device"]) for row in before] == [("truncated", "pixel8")]
        await_state(client, tiny_dump(1))
    rebuild_store(store)
    with serving(store) as client:
        assert errors(client) == before
