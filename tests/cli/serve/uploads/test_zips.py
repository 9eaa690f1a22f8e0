from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from starlette.testclient import TestClient

from tests.support.service import service_of, serving
from tests.support.stores import MANIFEST
from tests.support.uploads import await_state, new_dump, put, send_zip, sha256_of, zip_of


def test_each_dump_of_a_zip_is_accepted_refused_or_known_by_itself(client: TestClient) -> None:
    dump = new_dump()
    members = {"a.etdp": dump, "b.etdp": b"x" * 99, "c.etdp": new_dump()}

    answer = send_zip(client, members)

    assert answer.status_code == 201
    first, second, third = answer.json()["dumps"]
    named = {"name": "upload.zip!a.etdp", "sha256": sha256_of(dump)}
    assert first == {**named, "state": "accepted"}
    assert second["problem"]["reason"] == "bad_identifier"
    assert third["state"] == "accepted"
    assert send_zip(client, members).status_code == 200  # nothing in it is new


def test_a_zip_of_which_nothing_is_accepted_is_a_problem(client: TestClient) -> None:
    answer = send_zip(client, {"a.etdp": b"x" * 99, "b.etdp": b"y" * 99})

    found = answer.json()
    assert (answer.status_code, found["reason"]) == (400, "bad_identifier")
    assert answer.headers["content-type"] == "application/problem+json"
    assert found["detail"].startswith("none of 2 dumps was taken; the first: offset 4: ")
    assert [one["name"] for one in found["dumps"]] == ["upload.zip!a.etdp", "upload.zip!b.etdp"]
    counted = client.get("/metrics").text
    assert 'http_problems_total{reason="bad_identifier",route="/v1/dumps"} 1.0' in counted


def test_the_dumps_of_a_zip_have_to_leave_room_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = SimpleNamespace(f_bavail=10 << 20, f_frsize=1)
    with serving(tmp_path / "store") as client:
        monkeypatch.setattr(os, "statvfs", lambda _: room)
        answer = send_zip(client, {"a.etdp": new_dump() + bytes(20 << 20)})
    assert (answer.status_code, answer.json()["reason"]) == (507, "disk_low")


def test_a_zip_waits_while_what_it_unpacked_waits_to_be_indexed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracehouse.cli.serve.uploads.zips._GROUP_BYTES", 1)
    monkeypatch.setattr("tracehouse.cli.serve.uploads.admission._LOOK_SECONDS", 0.01)
    members = {f"{n}.etdp": new_dump() for n in range(4)}
    members |= {f"{n}.debug.bin": bytes(40_000) for n in range(4)}
    with serving(tmp_path / "store", backlog_bytes=1 << 16) as client:
        answer = send_zip(client, members)
        assert [one["state"] for one in answer.json()["dumps"]] == ["accepted"] * 4
    monkeypatch.setattr("tracehouse.cli.serve.uploads.admission._PATIENCE_SECONDS", 0.0)
    idle = {"batch_dumps": 1000, "batch_seconds": 1000, "backlog_bytes": 1 << 16}
    with serving(tmp_path / "idle", **idle) as client:
        answer = send_zip(client, members)
    assert (answer.status_code, answer.json()["reason"]) == (429, "backlog")


def test_a_large_dump_of_a_zip_becomes_a_log_and_delays_no_other(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracehouse.warehouse.inbox.spools.MEMORY_BYTES", 100)
    monkeypatch.setattr("tracehouse.cli.serve.uploads.zips._GROUP_BYTES", 100)
    service, dumps = service_of(client), (new_dump(), new_dump())
    groups = service.acceptor.groups

    answer = send_zip(client, dict(zip(("a.etdp", "b.etdp"), dumps, strict=True)))

    assert [one["state"] for one in answer.json()["dumps"]] == ["accepted", "accepted"]
    assert service.acceptor.groups == groups
    assert {await_state(client, dump)["state"] for dump in dumps} == {"indexed"}


def test_a_zip_has_its_own_manifests_and_the_names_of_its_members_are_only_names(
    client: TestClient, tmp_path: Path
) -> None:
    (tmp_path / "manifest.json").write_text('{"device": "beside the store"}')
    members = {
        "manifest.json": json.dumps({"build": "b1", "model": "mv2"}).encode(),
        "a/run.json": b'{"device": "pixel8"}',
        "a/run.etdp": new_dump(),
        "../../../escaped.etdp": new_dump(),
    }

    answer = send_zip(client, members, {})

    escaped, run = answer.json()["dumps"]
    assert (run["name"], run["state"]) == ("upload.zip!a/run.etdp", "accepted")
    assert escaped["problem"]["reason"] == "manifest"  # no device: none is looked for outside
    assert str(service_of(client).store) not in answer.text
    assert not list(tmp_path.parent.rglob("escaped.etdp"))


@pytest.mark.parametrize("body", [b"", b"PK\3\4 no zip", zip_of({"a.txt": b""})])
def test_a_zip_without_dumps_is_refused(client: TestClient, body: bytes) -> None:
    assert send_zip(client, body).status_code == 400


def test_a_token_limited_to_pools_sends_no_dump_of_others_and_learns_nothing_of_them(
    client: TestClient, limit_to_lab: Callable[[], None]
) -> None:
    known = new_dump()
    put(client, known)
    limit_to_lab()

    refused = send_zip(client, {"a.etdp": new_dump()})
    conflict = send_zip(client, {"a.etdp": known}, {**MANIFEST, "pool": "lab", "device": "s24"})

    assert [one["problem"]["reason"] for one in refused.json()["dumps"]] == ["pool"]
    assert (conflict.status_code, conflict.json()["reason"]) == (409, "conflict")
    assert "pixel8" not in conflict.text


def test_other_files_of_a_zip_are_counted_by_kind(client: TestClient) -> None:
    others = {"__MACOSX/._a.etdp": b"", "notes.txt": b"", "more.txt": b""}
    packed = {"farm\\b.etdp.gz": gzip.compress(dump := new_dump())}

    answer = send_zip(client, {"a.etdp": new_dump(), **packed, **others})

    assert answer.json()["passed_over"] == {"*.txt": 2, "._*": 1}
    _, second = answer.json()["dumps"]
    assert second == {
        "name": "upload.zip!farm/b.etdp.gz",
        "sha256": sha256_of(dump),
        "state": "accepted",
    }


def test_body_that_is_no_zip_is_refused_by_what_it_is(client: TestClient) -> None:
    answer = client.post(
        "/v1/dumps", content=b"<html>Sign in</html>", headers={"Content-Type": "application/zip"}
    )
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith("upload.zip: not a zip, but an HTML page")
