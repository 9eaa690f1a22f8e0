"""Long sidecars of uploads, which the service leaves to another process."""

from __future__ import annotations

import json
from collections.abc import Callable

import httpx2
import pytest
from starlette.testclient import TestClient

from tests.support.service import service_of
from tests.support.stores import MANIFEST
from tests.support.uploads import await_state, new_dump, record_of, send, send_batch, sha256_of
from tracehouse.ingest.manifest import json_files, runner_output

STATED = json.dumps(MANIFEST).encode()
LONG = 5_000
LOG = b" " * LONG + b'\nPyTorchObserver {"prompt_tokens":7}\n'
SUMMARY = {"data": {"htp_overall_summary": {"data": [{"time_us": 3}]}}}
QHAS = json.dumps(SUMMARY).encode() + b" " * LONG
LONG_STATED = json.dumps({**MANIFEST, "note": "x" * LONG}).encode()
Sender = Callable[[httpx2.Client, bytes, bytes, bytes, bytes], httpx2.Response]


@pytest.fixture
def parsed_here(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Sizes of the texts that this process parses from now on."""
    sizes: list[int] = []
    parse_json, parse_log = json_files.parse_finite_json, runner_output.parse_log

    def note_json(text: str, *, most_marks: int) -> object:
        sizes.append(len(text))
        return parse_json(text, most_marks=most_marks)

    def note_log(text: str) -> list[dict[str, object]]:
        sizes.append(len(text))
        return parse_log(text)

    monkeypatch.setattr(json_files, "parse_finite_json", note_json)
    monkeypatch.setattr(runner_output, "parse_log", note_log)
    return sizes


def send_form(
    client: httpx2.Client, dump: bytes, manifest: bytes, log: bytes, qhas: bytes
) -> httpx2.Response:
    parts = {"dump": dump, "log": log, "qhas": qhas}
    files = {name: (f"a.{name}", data) for name, data in parts.items()}
    return client.post("/v1/dumps", data={"manifest": manifest.decode()}, files=files)


def send_record(
    client: httpx2.Client, dump: bytes, manifest: bytes, log: bytes, qhas: bytes
) -> httpx2.Response:
    answer = send_batch(client, [record_of(dump, manifest, log=log, qhas=qhas)])
    (result,) = answer.json()["dumps"]
    return httpx2.Response(result["status"], json=result)


@pytest.mark.parametrize("upload", [send_form, send_record])
def test_long_sidecars_of_uploads_are_parsed_by_another_process(
    client: TestClient, parsed_here: list[int], upload: Sender
) -> None:
    dump = new_dump()
    assert upload(client, dump, LONG_STATED, LOG, QHAS).status_code == 201
    assert await_state(client, dump)["state"] == "indexed"
    with service_of(client).reader() as reader:
        rows = reader.sql(
            "SELECT c.name, c.value FROM counters AS c JOIN dumps USING (dump_id) "
            "WHERE sha256 = $sha256 ORDER BY c.name",
            {"sha256": sha256_of(dump)},
        )
    assert rows.to_pylist() == [
        {"name": "htp_time_us", "value": 3.0},
        {"name": "prompt_tokens", "value": 7.0},
    ]
    assert max(parsed_here, default=0) < LONG


@pytest.mark.parametrize("upload", [send_form, send_record])
@pytest.mark.parametrize(
    ("part", "data", "detail"),
    [
        ("qhas", b"[" + b"[]," * 600_000 + b"0]" + b" " * LONG, "has 1,200,001 commas, colons"),
        ("qhas", b"[" * LONG, "nested more than 64 deep"),
        ("qhas", b" " * LONG + b'{"a": 1e999}', "line 1 column 5,007: found 1e999, wanted a num"),
        ("qhas", b" " * (17 << 20), "17,825,792 bytes, wanted at most 16,777,216"),
        ("log", b"ethosu_pmu_cntr1 : 1\n" * 100_001, "would take more than 100,000 figures"),
        ("manifest", b'{"a": [' + b"0," * 70_000 + b"0]}", "has 70,003 commas, colons"),
    ],
    ids=["marks", "deep", "1e999", "bytes", "figures", "manifest"],
)
def test_sidecars_beyond_a_limit_are_refused_with_the_name_of_the_limit(
    client: TestClient, parsed_here: list[int], upload: Sender, part: str, data: bytes, detail: str
) -> None:
    parts = {"manifest": STATED, "log": LOG, "qhas": QHAS, part: data}
    answer = upload(client, new_dump(), **parts)  # type: ignore[call-arg]
    assert answer.status_code == 400
    assert detail in answer.json()["detail"]
    assert max(parsed_here, default=0) < LONG


def test_a_long_manifest_is_parsed_by_another_process(
    client: TestClient, parsed_here: list[int]
) -> None:
    dump = new_dump()
    assert send(client, dump, json.loads(LONG_STATED)).status_code == 201
    answer = send(client, new_dump(), {**MANIFEST, "a": [0] * LONG, "clock": "years"})
    assert (answer.status_code, answer.json()["reason"]) == (400, "manifest")
    assert max(parsed_here, default=0) < LONG


def test_a_sidecar_that_its_process_does_not_survive_refuses_its_dump_alone(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracehouse.warehouse.load.children.MOST_SECONDS", 0.0)
    monkeypatch.setattr("tracehouse.warehouse.load.children.SECONDS_PER_BYTE", 1e-9)
    first, second = new_dump(), new_dump()
    records = [record_of(first, STATED, log=LOG * 400), record_of(second, STATED)]
    found = send_batch(client, records).json()["dumps"]
    assert [one["status"] for one in found] == [400, 201]
    assert found[0]["detail"].startswith("log: took more than 0 s to decode; send the dump without")
