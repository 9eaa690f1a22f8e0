from __future__ import annotations

import gzip
import io
import json
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from starlette.testclient import TestClient

from cli.serve.access.authorization import Access, Bearer, Scope
from tests.support.blob_builder import block, build_profiler_blob
from tests.support.cross_section import cross_section
from tests.support.service import serving
from tests.support.stores import MANIFEST
from tests.support.tiny_dumps import tiny_dump
from tests.support.uploads import await_state, put, sha256_of

FORM = "multipart/form-data; boundary=b"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with serving(tmp_path / "store") as client:
        yield client


def zip_of(members: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return packed.getvalue()


@pytest.mark.smoke
def test_a_dump_is_accepted_and_then_indexed(client: TestClient) -> None:
    dump = tiny_dump(1)

    answer = put(client, dump)

    assert answer.status_code == 201
    assert answer.json() == {"sha256": sha256_of(dump), "state": "accepted"}
    assert await_state(client, dump)["state"] == "indexed"


def test_the_same_again_is_there_already(client: TestClient) -> None:
    dump = tiny_dump(1)
    put(client, dump)
    await_state(client, dump)

    answer = put(client, dump)

    assert (answer.status_code, answer.json()["state"]) == (200, "indexed")


@pytest.mark.smoke
def test_the_same_bytes_with_another_manifest_are_a_conflict_that_names_the_fields(
    client: TestClient,
) -> None:
    dump = tiny_dump(1)
    put(client, dump)
    early = put(client, dump, {**MANIFEST, "device": "s24"})
    await_state(client, dump)

    late = put(client, dump, {**MANIFEST, "device": "s24"})

    for answer in (early, late):
        assert (answer.status_code, answer.json()["reason"]) == (409, "conflict")
        assert "device.name: 's24' here, 'pixel8' there" in answer.json()["detail"]


@pytest.mark.slow
def test_what_the_store_had_before_it_was_served_is_known(tmp_path: Path) -> None:
    dump = tiny_dump(1)
    with serving(tmp_path / "store") as client:
        put(client, dump)
        await_state(client, dump)

    with serving(tmp_path / "store") as client:
        answer = put(client, dump)

    assert (answer.status_code, answer.json()["state"]) == (200, "indexed")


def test_a_body_of_another_hash_is_refused(client: TestClient) -> None:
    answer = client.put(
        f"/v1/dumps/{sha256_of(tiny_dump(1))}",
        content=tiny_dump(2),
        headers={"Tracehouse-Manifest": json.dumps(MANIFEST)},
    )

    assert (answer.status_code, answer.json()["reason"]) == (400, "sha256")


@pytest.mark.parametrize(
    ("dump", "reason"),
    cross_section(
        [
            (b"", "empty"),
            (b"not a dump at all, but long", "bad_identifier"),
            (tiny_dump(1)[:-4], "bad_size_prefix"),
            (tiny_dump(1)[:12], "truncated"),
            (build_profiler_blob(block("b", ("e", 1, 2)))[:80], "truncated"),
        ],
        3,
    ),
)
def test_what_does_not_begin_as_a_dump_is_refused_in_the_readers_words(
    client: TestClient, dump: bytes, reason: str
) -> None:
    answer = put(client, dump)

    assert (answer.status_code, answer.json()["reason"]) == (400, reason)


def test_a_bad_dump_does_not_harm_those_that_are_committed_with_it(client: TestClient) -> None:
    packed = zip_of({"a.etdp": tiny_dump(1), "b.etdp": b"x" * 99, "c.etdp": tiny_dump(2)})
    headers = {"Content-Type": "application/zip", "Tracehouse-Manifest": json.dumps(MANIFEST)}

    answer = client.post("/v1/dumps", content=packed, headers=headers)

    assert answer.status_code == 201
    first, second, third = answer.json()["dumps"]
    assert first == {
        "name": "upload.zip!a.etdp",
        "sha256": sha256_of(tiny_dump(1)),
        "state": "accepted",
    }
    assert second["problem"]["reason"] == "bad_identifier"
    assert third["state"] == "accepted"


def test_a_dump_that_only_the_decoder_refuses_is_quarantined_with_its_reason(
    client: TestClient,
) -> None:
    dump = bytearray(tiny_dump(2))
    dump[-40:] = b"\xff" * 40

    assert put(client, bytes(dump)).status_code == 201

    found = await_state(client, bytes(dump))
    assert found["state"] == "quarantined"
    assert found["reason"]
    assert found["detail"]


@pytest.mark.parametrize(
    ("manifest", "detail"),
    cross_section(
        [
            (None, "no header"),
            ('{"device": "d"}', "no build, model"),
            ("[]", "wanted a JSON object"),
            ("{", "not valid JSON"),
            ('{"device": "ü", "build": "b", "model": "m"}', "not ASCII"),
            ('{"device": "d", "device": "e", "build": "b", "model": "m"}', "device"),
        ],
        3,
    ),
)
def test_a_manifest_is_checked_before_the_body_is_read(
    client: TestClient, manifest: str | None, detail: str
) -> None:
    def body() -> Iterator[bytes]:
        yield tiny_dump(1)

    headers = {} if manifest is None else {"Tracehouse-Manifest": manifest.encode()}
    answer = client.put(f"/v1/dumps/{'0' * 64}", content=body(), headers=headers)

    assert (answer.status_code, answer.json()["reason"]) == (400, "manifest")
    assert detail in answer.json()["detail"]


@pytest.mark.slow
def test_letters_beyond_ascii_come_escaped(client: TestClient) -> None:
    dump = tiny_dump(1)

    put(client, dump, {**MANIFEST, "device": "küche"})
    await_state(client, dump)

    assert stored(client, "SELECT name AS device FROM devices") == [{"device": "küche"}]


@pytest.mark.parametrize("encoding", cross_section(["gzip", "zstd"], 2))
def test_a_packed_body_is_unpacked(client: TestClient, encoding: str) -> None:
    dump = tiny_dump(1)
    packed = pa.compress(dump, codec=encoding, asbytes=True)

    answer = put(client, dump, body=packed, encoding=encoding)

    assert answer.status_code == 201
    assert await_state(client, dump)["state"] == "indexed"


@pytest.mark.parametrize("encoding", cross_section(["gzip", "zstd"], 3))
@pytest.mark.parametrize("harm", ["cut", "garbage", "empty"])
def test_a_body_that_cannot_be_unpacked_is_refused(
    client: TestClient, encoding: str, harm: str
) -> None:
    packed = pa.compress(tiny_dump(1), codec=encoding, asbytes=True)
    body = {"cut": packed[:-5], "garbage": b"\0" * 50, "empty": b""}[harm]

    answer = put(client, tiny_dump(1), body=body, encoding=encoding)

    assert (answer.status_code, answer.json()["reason"]) == (400, "encoding")


def test_an_unknown_encoding_is_refused(client: TestClient) -> None:
    answer = put(client, tiny_dump(1), encoding="br")

    assert (answer.status_code, answer.json()["reason"]) == (415, "encoding")


def test_a_bomb_is_unpacked_no_further_than_a_dump_may_be(tmp_path: Path) -> None:
    bomb = gzip.compress(bytes(1 << 20))

    with serving(tmp_path / "store", max_dump_bytes=1 << 16) as client:
        answer = put(client, tiny_dump(1), body=bomb, encoding="gzip")

    assert (answer.status_code, answer.json()["reason"]) == (413, "too_large")


def test_a_bomb_within_the_limit_is_unpacked_no_further_than_its_ratio(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cli.serve.http.bodies.INFLATION_FREE_BYTES", 1 << 20)

    answer = put(client, b"", body=gzip.compress(bytes(20 << 20)), encoding="gzip")

    assert (answer.status_code, answer.json()["reason"]) == (413, "too_large")
    assert "more than 5," in answer.json()["detail"]
    assert "if it is genuine, send it as it is" in answer.json()["detail"]


@pytest.mark.slow
def test_a_large_dump_is_spooled_and_becomes_a_log(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warehouse.inbox.spools.MEMORY_BYTES", 100)
    dump = tiny_dump(2)

    answer = put(client, dump)

    assert answer.status_code == 201
    assert await_state(client, dump)["state"] == "indexed"
    assert put(client, dump).status_code == 200


def test_a_large_dump_of_a_zip_becomes_a_log_and_holds_up_no_other(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warehouse.inbox.spools.MEMORY_BYTES", 100)
    monkeypatch.setattr("cli.serve.uploads.zips._GROUP_BYTES", 100)
    packed = zip_of({"a.etdp": tiny_dump(1), "b.etdp": tiny_dump(2)})
    headers = {"Content-Type": "application/zip", "Tracehouse-Manifest": json.dumps(MANIFEST)}

    answer = client.post("/v1/dumps", content=packed, headers=headers)

    assert [one["state"] for one in answer.json()["dumps"]] == ["accepted", "accepted"]
    service = client.app.state.service  # type: ignore[attr-defined]
    assert service.acceptor.groups == 0
    assert {await_state(client, tiny_dump(n))["state"] for n in (1, 2)} == {"indexed"}
    assert not list((service.store / "inbox").iterdir())


def audited(client: TestClient) -> str:
    """What the audit log has, once it has something."""
    file = client.app.state.service.store / "audit.jsonl"  # type: ignore[attr-defined]
    while not (text := file.read_text() if file.exists() else ""):
        time.sleep(0.01)
    return text


def test_parts_are_taken_with_what_comes_with_the_dump(client: TestClient) -> None:
    answer = client.post(
        "/v1/dumps",
        files={
            "dump": ("../../etc/run.etdp", tiny_dump(1)),
            "manifest": ("m.json", json.dumps(MANIFEST).encode()),
            "debug_buffer": ("run.debug.bin", b"\0" * 16),
            "etrecord": ("", b""),
            "log": ("run.log", b'PyTorchObserver {"prompt_tokens":7}\n'),
            "qhas": ("", b""),
        },
    )

    assert answer.status_code == 201
    assert await_state(client, tiny_dump(1))["state"] == "indexed"
    assert stored(client, "SELECT source FROM dumps") == [{"source": "run.etdp"}]
    assert stored(client, "SELECT name, value FROM counters") == [
        {"name": "prompt_tokens", "value": 7}
    ]
    assert answer.json()["sha256"] in audited(client)


def test_a_summary_in_parts_that_is_no_json_is_refused(client: TestClient) -> None:
    files = {
        "dump": ("run.etdp", tiny_dump(1)),
        "manifest": ("m.json", json.dumps(MANIFEST).encode()),
        "qhas": ("run.qhas.json", b"{"),
    }
    answer = client.post("/v1/dumps", files=files)
    assert (answer.status_code, answer.json()["reason"]) == (400, "manifest")
    assert answer.json()["detail"].startswith("qhas: not valid JSON")


@pytest.mark.parametrize(
    ("body", "detail"),
    cross_section(
        [
            (b"", "in the middle"),
            (b'--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n', "a part 'x'"),
            (b'--b\r\nContent-Disposition: form-data; name="dump"\r\n\r\nabc', "in the middle"),
            (b'--b\r\nContent-Disposition: form-data; name="dump"\r\n\r\nabc\r\n--b--', "no part"),
            (b'--b\r\nContent-Disposition: form-data; name="\xff"\r\n\r\n', "not UTF-8"),
            (2 * b'--b\r\nContent-Disposition: form-data; name="dump"\r\n\r\n\r\n', "two parts"),
            (b"nonsense", "malformed"),
            (b"--b\r\nContent-Disposition: " + b"x" * 9999, "malformed"),
        ],
        4,
    ),
)
def test_malformed_parts_are_refused(client: TestClient, body: bytes, detail: str) -> None:
    answer = client.post("/v1/dumps", content=body, headers={"Content-Type": FORM})

    assert (answer.status_code, answer.json()["reason"]) == (400, "multipart")
    assert detail in answer.json()["detail"]


def test_parts_without_a_boundary_are_refused(client: TestClient) -> None:
    headers = {"Content-Type": "multipart/form-data"}

    assert client.post("/v1/dumps", content=b"", headers=headers).json()["reason"] == "multipart"


def test_another_type_is_refused(client: TestClient) -> None:
    answer = client.post("/v1/dumps", content=b"{}", headers={"Content-Type": "text/plain"})

    assert (answer.status_code, answer.json()["reason"]) == (415, "content_type")


@pytest.mark.slow
def test_a_zip_brings_its_own_manifests_and_names_of_members_are_only_names(
    client: TestClient, tmp_path: Path
) -> None:
    (tmp_path / "manifest.json").write_text('{"device": "beside the store"}')
    packed = zip_of(
        {
            "manifest.json": json.dumps({"build": "b1", "model": "mv2"}).encode(),
            "a/run.json": b'{"device": "pixel8"}',
            "a/run.etdp": tiny_dump(1),
            "../../../escaped.etdp": tiny_dump(2),
        }
    )

    answer = client.post("/v1/dumps", content=packed, headers={"Content-Type": "application/zip"})

    escaped, run = answer.json()["dumps"]
    assert (run["name"], run["state"]) == ("upload.zip!a/run.etdp", "accepted")
    assert escaped["problem"]["reason"] == "manifest"  # no device: none is looked for outside
    assert str(tmp_path) not in answer.text
    assert not list(tmp_path.parent.rglob("escaped.etdp"))
    assert run["sha256"] in audited(client)


@pytest.mark.parametrize("body", cross_section([b"", b"PK\3\4 no zip", zip_of({"a.txt": b""})], 3))
def test_a_zip_without_dumps_is_refused(client: TestClient, body: bytes) -> None:
    headers = {"Content-Type": "application/zip", "Tracehouse-Manifest": json.dumps(MANIFEST)}

    answer = client.post("/v1/dumps", content=body, headers=headers)

    assert answer.status_code == 400


def test_nothing_is_left_in_the_inbox_of_what_was_refused(
    client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warehouse.inbox.spools.MEMORY_BYTES", 10)
    put(client, b"x" * 100)
    client.post("/v1/dumps", content=b"PK", headers={"Content-Type": "application/zip"})

    assert not [path.name for path in (tmp_path / "store" / "inbox").iterdir()]


def test_an_unknown_dump_is_not_found(client: TestClient) -> None:
    await_caught_up(client)

    answer = client.get(f"/v1/dumps/{'0' * 64}")

    assert (answer.status_code, answer.json()["reason"]) == (404, "unknown_dump")


def test_what_is_no_hash_is_refused(client: TestClient) -> None:
    assert client.get("/v1/dumps/XYZ").json()["reason"] == "sha256"


def test_a_bearer_of_some_pools_sends_dumps_of_no_other(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit_to_lab(monkeypatch)
    theirs = {**MANIFEST, "pool": "lab"}
    packed = zip_of({"a.etdp": tiny_dump(3)})
    headers = {"Content-Type": "application/zip", "Tracehouse-Manifest": json.dumps(MANIFEST)}

    assert put(client, tiny_dump(1), theirs).status_code == 201
    answer = put(client, tiny_dump(2))
    zipped = client.post("/v1/dumps", content=packed, headers=headers)

    assert (answer.status_code, answer.json()["reason"]) == (403, "pool")
    assert [one["problem"]["reason"] for one in zipped.json()["dumps"]] == ["pool"]


def test_a_bearer_of_some_pools_learns_nothing_of_dumps_of_others(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs, other = tiny_dump(1), tiny_dump(2)
    put(client, theirs, {**MANIFEST, "pool": "lab"})
    put(client, other)
    limit_to_lab(monkeypatch)

    answers = [client.get(f"/v1/dumps/{sha256_of(one)}") for one in (theirs, other)]

    assert [one.status_code for one in answers] == [200, 404]
    assert answers[1].json()["reason"] == "unknown_dump"


def test_a_bearer_of_some_pools_learns_of_a_conflict_but_not_what_others_said(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, other = tiny_dump(1), tiny_dump(2)
    put(client, ours, {**MANIFEST, "pool": "lab"})
    put(client, other)
    limit_to_lab(monkeypatch)
    stated = {**MANIFEST, "pool": "lab", "device": "s24"}
    packed = zip_of({"a.etdp": other})
    headers = {"Content-Type": "application/zip", "Tracehouse-Manifest": json.dumps(stated)}

    answers = [put(client, one, stated) for one in (ours, other)]
    answers.append(client.post("/v1/dumps", content=packed, headers=headers))

    assert [(one.status_code, one.json()["reason"]) for one in answers] == 3 * [(409, "conflict")]
    assert "'pixel8' there" in answers[0].json()["detail"]
    for answer in answers[1:]:
        assert "of a device pool that the token may not see" in answer.json()["detail"]
        assert "pixel8" not in answer.text


def limit_to_lab(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take whoever asks for a bearer of one pool."""
    bearer = Bearer("lab", frozenset(Scope), frozenset({"lab"}))
    monkeypatch.setattr(Access, "identify", lambda *_: bearer)


def await_caught_up(client: TestClient) -> None:
    deadline = time.monotonic() + 30
    while not client.app.state.service.consumer.is_caught_up:  # type: ignore[attr-defined]
        assert time.monotonic() < deadline
        time.sleep(0.005)


def stored(client: TestClient, sql: str) -> list[dict[str, Any]]:
    with client.app.state.service.reader() as reader:  # type: ignore[attr-defined]
        rows: list[dict[str, Any]] = reader.sql(sql).to_pylist()
    return rows
