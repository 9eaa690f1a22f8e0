from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.testclient import TestClient
from starlette.types import Message

from tests.support.service import service_of, serving
from tests.support.stores import MANIFEST
from tests.support.uploads import await_state, new_dump, record_of, send, send_batch, sha256_of
from tracehouse import Inbox
from tracehouse.warehouse.errors import StoreError

STATED = json.dumps(MANIFEST).encode()
OTHER = json.dumps({**MANIFEST, "device": "s24"}).encode()


@pytest.mark.smoke
def test_each_dump_has_the_answer_of_a_single_upload(client: TestClient) -> None:
    first, second, known = new_dump(), new_dump(), new_dump()
    send(client, known)
    records = [
        record_of(first, STATED, name="first.etdp"),
        record_of(b"x" * 99, STATED),
        record_of(first, OTHER),
        record_of(known, STATED),
        record_of(second, b'{"device": "pixel8"}'),
        record_of(second, STATED, sha256="0" * 64),
        record_of(second, STATED, sha256=sha256_of(second)),
    ]

    answer = send_batch(client, records)

    found = answer.json()["dumps"]
    assert answer.status_code == 201
    assert [one["status"] for one in found] == [201, 400, 409, 200, 400, 400, 201]
    accepted = {"sha256": sha256_of(first), "status": 201, "state": "accepted"}
    assert found[0] == {"name": "first.etdp", **accepted}
    assert [one.get("reason") for one in found[1:6]] == [
        "bad_identifier", "conflict", None, "manifest", "sha256",
    ]  # fmt: skip
    assert "device.name: 's24' here, 'pixel8' there" in found[2]["detail"]
    assert {await_state(client, dump)["state"] for dump in (first, second)} == {"indexed"}


def test_a_batch_that_is_sent_again_is_known_and_the_rest_is_taken(client: TestClient) -> None:
    records = [record_of(new_dump(), STATED) for _ in range(4)]
    assert send_batch(client, records[:2]).status_code == 201

    again = send_batch(client, records)

    assert [one["status"] for one in again.json()["dumps"]] == [200, 200, 201, 201]
    assert send_batch(client, records).status_code == 200  # nothing in it is new


def test_the_dumps_before_a_malformed_record_are_accepted_and_have_their_results(
    client: TestClient,
) -> None:
    dump = new_dump()
    record = record_of(dump, STATED)

    answer = send_batch(client, [record, b"nonsense\n", record])

    found = answer.json()
    assert (answer.status_code, found["reason"]) == (400, "record")
    assert found["detail"].startswith(f"offset {len(record)}: the line is not JSON")
    assert [(one["sha256"], one["status"]) for one in found["dumps"]] == [(sha256_of(dump), 201)]
    assert await_state(client, dump)["state"] == "indexed"


def test_a_cut_batch_keeps_what_was_complete(client: TestClient) -> None:
    dump = new_dump()
    answer = send_batch(client, [record_of(dump, STATED), record_of(new_dump(), STATED)[:-1]])
    assert answer.status_code == 400
    assert "the stream ends inside a record" in answer.json()["detail"]
    assert [one["sha256"] for one in answer.json()["dumps"]] == [sha256_of(dump)]


def test_more_dumps_than_the_limit_are_refused_and_those_before_are_accepted(
    client: TestClient,
) -> None:
    record = record_of(new_dump(), STATED)
    answer = send_batch(client, [record] * 257)
    found = answer.json()
    assert (answer.status_code, found["reason"]) == (413, "too_many")
    assert [one["status"] for one in found["dumps"]] == [201, *[200] * 255]


def stream(client: TestClient, pieces: Iterator[bytes], *, is_cut: bool = False) -> dict[str, Any]:
    """The answer to a batch that arrives piece by piece, and is cut at its end."""
    sent: list[Message] = []

    async def receive() -> Message:
        piece = next(pieces, None)
        if piece is None and is_cut:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": piece or b"", "more_body": piece is not None}

    async def send(message: Message) -> None:
        sent.append(message)

    place: dict[str, Any] = {"type": "http", "method": "POST", "path": "/v1/dumps:batch"}
    more = {"query_string": b"", "headers": [(b"host", b"127.0.0.1")], "client": ("127.0.0.1", 1)}
    assert client.portal
    client.portal.call(client.app, {**place, **more}, receive, send)
    answer: dict[str, Any] = json.loads(b"".join(one.get("body", b"") for one in sent))
    return answer


def test_dumps_are_on_disk_while_the_rest_arrives_and_known_when_the_cut_batch_is_sent_again(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracehouse.cli.serve.http.endpoints._BATCH_BYTES", 100)
    records = [record_of(new_dump(), STATED) for _ in range(3)]
    before, taken = service_of(client).consumer.accepted, list[int]()

    def pieces() -> Iterator[bytes]:
        for record in records:
            yield record[:-1]
            taken.append(service_of(client).consumer.accepted - before)
            yield record[-1:] * (record is not records[2])

    cut = stream(client, pieces(), is_cut=True)

    assert taken == [0, 1, 2]
    assert (cut["reason"], [one["status"] for one in cut["dumps"]]) == ("cut", [201, 201])
    again = send_batch(client, records).json()["dumps"]
    assert [one["status"] for one in again] == [200, 200, 201]


def test_large_and_packed_dumps_are_accepted_and_leave_no_file(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    dumps = [new_dump() for _ in range(3)]
    monkeypatch.setattr("tracehouse.warehouse.inbox.spools.MEMORY_BYTES", len(STATED))
    monkeypatch.setattr("tracehouse.cli.serve.http.endpoints._PIECE_BYTES", 100)
    body = gzip.compress(b"".join(record_of(dump, STATED) for dump in dumps))

    answer = client.post("/v1/dumps:batch", content=body, headers={"Content-Encoding": "gzip"})

    assert [one["status"] for one in answer.json()["dumps"]] == [201] * 3
    assert {await_state(client, dump)["state"] for dump in dumps} == {"indexed"}
    assert not list((service_of(client).store / "inbox").glob("*.part"))


def test_companions_and_printed_counters_come_with_their_dump(tmp_path: Path) -> None:
    dump = new_dump()
    parts = {"debug_buffer": bytes(16), "log": b'PyTorchObserver {"prompt_tokens":7}\n'}
    with serving(tmp_path / "store") as client:
        send_batch(client, [record_of(dump, STATED, **parts)])
        assert await_state(client, dump)["state"] == "indexed"
        with service_of(client).reader() as reader:
            counters = reader.sql("SELECT name, value FROM counters").to_pylist()
            files = reader.sql("SELECT count(*) AS n FROM archived_files").to_pylist()
    assert counters == [{"name": "prompt_tokens", "value": 7}]
    assert files == [{"n": 2}]


def test_dumps_are_deferred_one_by_one_while_too_many_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracehouse.cli.serve.http.endpoints._BATCH_BYTES", 100)
    settings = {"batch_dumps": 1000, "batch_seconds": 1000, "backlog_bytes": 1 << 16}
    dumps = [new_dump(), new_dump() + bytes(1 << 16), new_dump()]
    with serving(tmp_path / "store", **settings) as client:
        found = stream(client, (record_of(dump, STATED) for dump in dumps))["dumps"]
    assert [one["status"] for one in found] == [201, 429, 201]
    assert found[1]["reason"] == "backlog"


def test_a_disk_that_fails_defers_the_dumps_and_the_next_batch_takes_them(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [record_of(new_dump(), STATED) for _ in range(2)]

    def fail(*_: object) -> None:
        raise StoreError("inbox", "cannot be written")

    with monkeypatch.context() as failing:
        failing.setattr(Inbox, "accept_all", fail)
        answer = send_batch(client, records)
    assert [one["status"] for one in answer.json()["dumps"]] == [503, 503]
    assert answer.headers["Retry-After"]
    assert send_batch(client, records).status_code == 201


def test_a_full_disk_ends_the_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = SimpleNamespace(f_bavail=0, f_frsize=1)
    with serving(tmp_path / "store", free_bytes=1) as client:
        monkeypatch.setattr(os, "statvfs", lambda _: room)
        answer = send_batch(client, [record_of(new_dump(), STATED)])
    assert (answer.status_code, answer.json()["reason"]) == (507, "disk_low")
    assert answer.headers["Retry-After"]


def test_a_token_limited_to_pools_sends_no_dump_of_others_and_learns_nothing_of_them(
    client: TestClient, limit_to_lab: Callable[[], None]
) -> None:
    known, own = new_dump(), new_dump()
    send(client, known)
    limit_to_lab()
    lab = json.dumps({**MANIFEST, "pool": "lab", "device": "s24"}).encode()
    records = [record_of(new_dump(), STATED), record_of(known, lab), record_of(own, lab)]

    answer = send_batch(client, records)

    found = answer.json()["dumps"]
    assert [one.get("reason") for one in found] == ["pool", "conflict", None]
    assert [one["status"] for one in found] == [403, 409, 201]
    assert "pixel8" not in answer.text


def test_deferred_dumps_say_when_to_send_them_again(tmp_path: Path) -> None:
    settings = {"batch_dumps": 1000, "batch_seconds": 1000, "backlog_bytes": 1 << 16}
    records = [record_of(new_dump() + bytes(1 << 16), STATED), record_of(new_dump(), STATED)]
    with serving(tmp_path / "store", **settings) as client:
        send(client, new_dump())
        answer = client.post("/v1/dumps:batch", content=iter(records))
    assert [one["status"] for one in answer.json()["dumps"]] == [429, 429]
    assert int(answer.headers["Retry-After"]) > 0
