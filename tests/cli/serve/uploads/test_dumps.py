from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from starlette.testclient import TestClient

from tests.support.service import service_of, serving
from tests.support.stores import MANIFEST
from tests.support.uploads import await_state, new_dump, send, send_packed, sha256_of
from tests.support.waiting import until

LAB = {**MANIFEST, "pool": "lab"}


@pytest.mark.smoke
def test_a_dump_is_accepted_then_indexed_and_known_when_it_is_sent_again(
    client: TestClient,
) -> None:
    dump = new_dump()

    answer = send(client, dump)

    assert answer.status_code == 201
    assert answer.json() == {"sha256": sha256_of(dump), "state": "accepted"}
    assert await_state(client, dump)["state"] == "indexed"
    again = send(client, dump)
    assert (again.status_code, again.json()["state"]) == (200, "indexed")


@pytest.mark.smoke
def test_the_same_bytes_with_another_manifest_are_a_conflict_that_names_the_fields(
    client: TestClient,
) -> None:
    dump = new_dump()
    send(client, dump)
    early = send(client, dump, {**MANIFEST, "device": "s24"})
    await_state(client, dump)

    late = send(client, dump, {**MANIFEST, "device": "s24"})

    for answer in (early, late):
        assert (answer.status_code, answer.json()["reason"]) == (409, "conflict")
        assert "device.name: 's24' here, 'pixel8' there" in answer.json()["detail"]


@pytest.mark.slow
def test_a_dump_that_the_store_had_before_it_was_served_is_known(tmp_path: Path) -> None:
    dump = new_dump()
    with serving(tmp_path / "store") as client:
        send(client, dump)
        await_state(client, dump)

    with serving(tmp_path / "store") as client:
        answer = send(client, dump)

    assert (answer.status_code, answer.json()["state"]) == (200, "indexed")


@pytest.mark.parametrize(("dump", "reason"), [(b"", "empty"), (new_dump()[:-4], "bad_size_prefix")])
def test_a_body_that_does_not_begin_as_a_dump_is_refused_in_the_readers_words(
    client: TestClient, dump: bytes, reason: str
) -> None:
    answer = send(client, dump)

    assert (answer.status_code, answer.json()["reason"]) == (400, reason)


def test_a_dump_that_only_the_decoder_refuses_is_quarantined_with_its_reason(
    client: TestClient,
) -> None:
    dump = bytearray(new_dump())
    dump[-40:] = b"\xff" * 40

    assert send(client, bytes(dump)).status_code == 201

    found = await_state(client, bytes(dump))
    assert found["state"] == "quarantined"
    assert found["reason"]
    assert found["detail"]


def test_a_manifest_without_a_field_is_refused(client: TestClient) -> None:
    answer = send(client, new_dump(), {"device": "d"})

    assert (answer.status_code, answer.json()["reason"]) == (400, "manifest")
    assert "no build, model" in answer.json()["detail"]


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_packed_body_is_unpacked(client: TestClient, encoding: str) -> None:
    dump = new_dump()

    answer = send_packed(client, dump, partial(pa.compress, codec=encoding, asbytes=True), encoding)

    assert answer.status_code == 201
    assert await_state(client, dump)["state"] == "indexed"


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_body_that_cannot_be_unpacked_is_refused(client: TestClient, encoding: str) -> None:
    packed = pa.compress(new_dump(), codec=encoding, asbytes=True)
    for body in (packed[:-5], b"\0" * 50, b""):
        answer = send_packed(client, new_dump(), lambda _, body=body: body, encoding)

        assert (answer.status_code, answer.json()["reason"]) == (400, "encoding")


def test_an_unknown_encoding_is_refused(client: TestClient) -> None:
    answer = send_packed(client, new_dump(), bytes, "br")

    assert (answer.status_code, answer.json()["reason"]) == (415, "encoding")


def test_a_bomb_is_unpacked_no_further_than_a_dump_may_be(tmp_path: Path) -> None:
    with serving(tmp_path / "store", max_dump_bytes=1 << 16) as client:
        answer = send_packed(client, bytes(1 << 20), gzip.compress, "gzip")

    assert (answer.status_code, answer.json()["reason"]) == (413, "too_large")


def test_a_bomb_within_the_limit_is_unpacked_no_further_than_its_ratio(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracehouse.ingest.sources.private_bytes.INFLATION_FREE_BYTES", 1 << 20)

    answer = send_packed(client, bytes(20 << 20), gzip.compress, "gzip")

    assert (answer.status_code, answer.json()["reason"]) == (413, "too_large")
    assert "more than 5," in answer.json()["detail"]
    assert "if it is genuine, send it as it is" in answer.json()["detail"]


def test_a_large_dump_is_spooled_and_becomes_a_log(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracehouse.warehouse.inbox.spools.MEMORY_BYTES", 100)
    dump, groups = new_dump(), service_of(client).acceptor.groups

    answer = send(client, dump)

    assert answer.status_code == 201
    assert await_state(client, dump)["state"] == "indexed"
    assert send(client, dump).status_code == 200
    assert service_of(client).acceptor.groups == groups


def test_a_form_has_a_dump_and_its_companions(client: TestClient) -> None:
    dump = new_dump()
    answer = client.post(
        "/v1/dumps",
        files={
            "dump": ("../../etc/run.etdp", dump),
            "manifest": ("m.json", json.dumps(MANIFEST).encode()),
            "debug_buffer": ("run.debug.bin", b"\0" * 16),
            "etrecord": ("", b""),
            "log": ("run.log", b'PyTorchObserver {"prompt_tokens":7}\n'),
            "qhas": ("", b""),
        },
    )

    assert answer.status_code == 201
    assert await_state(client, dump)["state"] == "indexed"
    assert stored(client, dump, "source") == [{"source": "run.etdp"}]
    counters = "SELECT name, value FROM counters"
    with service_of(client).reader() as reader:
        assert reader.sql(counters).to_pylist() == [{"name": "prompt_tokens", "value": 7}]
    audit = service_of(client).store / "audit.jsonl"
    until(lambda: sha256_of(dump) in audit.read_text())


def test_an_uploaded_qhas_summary_that_is_not_json_is_refused(client: TestClient) -> None:
    files = {
        "dump": ("run.etdp", new_dump()),
        "manifest": ("m.json", json.dumps(MANIFEST).encode()),
        "qhas": ("run.qhas.json", b"{"),
    }
    answer = client.post("/v1/dumps", files=files)
    assert (answer.status_code, answer.json()["reason"]) == (400, "manifest")
    assert answer.json()["detail"].startswith("qhas: not valid JSON")


@pytest.mark.parametrize(
    ("kind", "status", "reason"),
    [
        ("multipart/form-data; boundary=b", 400, "multipart"),  # test_form_reader.py has the rest
        ("multipart/form-data", 400, "multipart"),
        ("text/plain", 415, "content_type"),
    ],
)
def test_an_upload_that_is_no_valid_multipart_form_is_refused(
    client: TestClient, kind: str, status: int, reason: str
) -> None:
    answer = client.post("/v1/dumps", content=b"{}", headers={"Content-Type": kind})

    assert (answer.status_code, answer.json()["reason"]) == (status, reason)


def test_a_refused_upload_leaves_nothing_in_the_inbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracehouse.warehouse.inbox.spools.MEMORY_BYTES", 10)
    with serving(tmp_path / "store") as client:
        send(client, b"x" * 100)

        assert not [path.name for path in (tmp_path / "store" / "inbox").iterdir()]


def test_an_unknown_dump_is_not_found_and_a_malformed_hash_is_refused(client: TestClient) -> None:
    until(lambda: service_of(client).consumer.is_caught_up)

    answer = client.get(f"/v1/dumps/{'0' * 64}")

    assert (answer.status_code, answer.json()["reason"]) == (404, "unknown_dump")
    assert client.get("/v1/dumps/XYZ").json()["reason"] == "sha256"


def test_a_token_limited_to_pools_sends_no_dump_of_others_and_learns_nothing_of_them(
    client: TestClient, limit_to_lab: Callable[[], None]
) -> None:
    ours, other = new_dump(), new_dump()
    send(client, ours, LAB)
    send(client, other)
    limit_to_lab()

    assert send(client, new_dump(), LAB).status_code == 201
    answer = send(client, new_dump())
    assert (answer.status_code, answer.json()["reason"]) == (403, "pool")
    answers = [client.get(f"/v1/dumps/{sha256_of(one)}") for one in (ours, other)]
    assert [one.status_code for one in answers] == [200, 404]
    assert answers[1].json()["reason"] == "unknown_dump"


def test_a_token_limited_to_pools_learns_of_a_conflict_but_not_the_manifest_of_others(
    client: TestClient, limit_to_lab: Callable[[], None]
) -> None:
    ours, other = new_dump(), new_dump()
    send(client, ours, LAB)
    send(client, other)
    limit_to_lab()

    answers = [send(client, one, {**LAB, "device": "s24"}) for one in (ours, other)]

    assert [(one.status_code, one.json()["reason"]) for one in answers] == 2 * [(409, "conflict")]
    assert "'pixel8' there" in answers[0].json()["detail"]
    assert "of a device pool that the token may not see" in answers[1].json()["detail"]
    assert "pixel8" not in answers[1].text


def stored(client: TestClient, dump: bytes, column: str) -> list[dict[str, Any]]:
    """A column of the dump in the store, if it is there."""
    with service_of(client).reader() as reader:
        found = reader.sql(f"SELECT sha256, {column} FROM named_dumps").to_pylist()  # noqa: S608
    return [{column: row[column]} for row in found if row["sha256"] == sha256_of(dump)]
