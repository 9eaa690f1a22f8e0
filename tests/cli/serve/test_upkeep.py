from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from starlette.testclient import TestClient

from tests.support.service import service_of, serving
from tests.support.stores import MANIFEST
from tests.support.tiny_dumps import ingest_one_by_one, tiny_dump
from tests.support.uploads import await_state, new_dump, send, sha256_of
from tracehouse.cli.serve import upkeep as endpoints
from tracehouse.cli.serve.access.audit import FILE_NAME as AUDIT
from tracehouse.cli.serve.access.authorization import Scope
from tracehouse.cli.serve.access.tokens import create_token
from tracehouse.cli.serve.http.endpoints import SHORT_BYTES
from tracehouse.cli.upkeep.tasks import TASKS

_OLD = {"raw_days": 0}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ingest_one_by_one(tmp_path_factory.mktemp("made"), 3)


@pytest.fixture
def own(made: Path, tmp_path: Path) -> Path:
    """A copy of the store."""
    return Path(shutil.copytree(made, tmp_path / "own"))


@pytest.fixture
def client(own: Path) -> Iterator[TestClient]:
    with serving(own) as client:
        yield client


@contextmanager
def busy(client: TestClient) -> Iterator[None]:
    """Keep the consumer of a service busy until the body ends."""
    begun, ended = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        ended.wait(30)

    working = service_of(client).consumer.perform(work)
    assert begun.wait(30)
    try:
        yield
    finally:
        ended.set()
        working.result(30)


def do(client: TestClient, task: str, body: Any, **headers: str) -> Any:
    return client.post(f"/v1/upkeep/{task}", json=body, headers=headers)


@pytest.mark.smoke
def test_a_task_is_previewed_then_done_and_audited(client: TestClient, own: Path) -> None:
    shown = do(client, "retention", _OLD)
    note = "nothing was changed; add --yes to drop these events"
    assert (shown.status_code, shown.headers["tracehouse-note"]) == (200, note)
    (row,) = shown.json()
    assert (row["build"], row["dump_count"]) == (MANIFEST["build"], 3)
    tag = client.get("/v1/queries/dumps").headers["etag"]
    done = do(client, "retention", {**_OLD, "yes": True}, Accept="text/csv")
    assert done.text.startswith("build,dump_count,")
    assert do(client, "retention", _OLD).json() == []
    assert client.get("/v1/queries/dumps", headers={"If-None-Match": tag}).status_code == 200
    lines = [json.loads(line) for line in (own / AUDIT).read_text().splitlines()]
    assert [(one["action"], one["what"], one["result"]) for one in lines][:2] == [
        ("POST /v1/upkeep/retention", "retention {}", "ok"),
        ("POST /v1/upkeep/retention", 'retention {"yes": true}', "ok"),
    ]


def test_a_token_needs_the_scope_of_the_task(tmp_path: Path) -> None:
    names = ("ingest", "read", "sql", "triage", "upkeep")
    secrets = {name: create_token(tmp_path, name, scopes=[Scope(name)]) for name in names}
    with serving(tmp_path) as client:
        for kind in TASKS:
            allowed = set()
            for name, secret in secrets.items():
                answer = do(client, kind.name, {"none": 1}, Authorization=f"Bearer {secret}")
                assert answer.status_code in (400, 403)
                allowed |= {name} if answer.status_code == 400 else set()
            assert allowed == set(kind.scopes)
        assert do(client, "compact", {}).status_code == 401


def test_an_ambiguous_or_long_body_is_refused_before_a_task_is_made(client: TestClient) -> None:
    json_type = {"Content-Type": "application/json"}
    for body, status, problem in (
        (b'{"raw_days": 90, "raw_days": 0}', 400, "the body has the key 'raw_days' twice"),
        (b'{"raw_days": 90' + b" " * SHORT_BYTES + b"}", 413, "more than 65,536 bytes"),
    ):
        answer = client.post("/v1/upkeep/retention", content=body, headers=json_type)
        assert (answer.status_code, problem in answer.json()["detail"]) == (status, True)


@pytest.mark.parametrize(
    ("task", "body", "problem"),
    [
        ("retention", {}, "raw_days: Field required"),
        ("retention", {"raw_days": "90"}, "raw_days: wanted a valid integer"),
        ("retention", {"raw_days": -1}, "raw_days: found -1, wanted 0 or more"),
        ("snapshot", {"keep": 0}, "keep: found 0, wanted 1 or more"),
        ("retention", {"raw_days": 1, "days": 1}, "days: Unexpected keyword argument"),
        ("forget", {}, "no dumps are chosen"),
        ("forget", {"device": "nobody"}, "has no dump with device=nobody"),
        ("amend", {"set": ["none=1"], "where": {"build": "b"}}, "no field 'none'"),
        ("accept", {"groups": ["g"], "reason": " "}, "wanted a reason"),
        ("accept", {"reason": "r"}, "wanted groups, or the model"),
        ("accept", {"groups": ["g"], "reason": "r", "state": "s"}, "state: found 's', wanted one"),
        ("verify", {"share": 0}, "share: found 0"),
        ("compact", [], "wanted"),
    ],
)
def test_an_invalid_task_is_refused_with_the_reason(
    client: TestClient, task: str, body: object, problem: str
) -> None:
    answer = do(client, task, body)
    assert answer.status_code == 400, answer.text
    assert problem in answer.json()["detail"]


def test_an_unknown_format_is_refused_before_anything_changes(client: TestClient) -> None:
    answer = do(client, "retention", {**_OLD, "yes": True}, Accept="image/png")
    assert answer.status_code == 406
    assert len(do(client, "retention", _OLD).json()) == 1
    answer = client.post("/v1/upkeep/compact", content="{}", headers={"Content-Type": "text/plain"})
    assert answer.status_code == 415


def test_uploads_and_queries_go_on_while_a_task_is_done(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoints, "ANSWER_SECONDS", 0.0)
    dump = new_dump()
    with busy(client):
        assert send(client, dump).status_code == 201
        begun = do(client, "forget", {"dump": sha256_of(dump), "yes": True})
        state = begun.json()
        assert (begun.status_code, state["task"], state["done"]) == (202, "forget", 0)
        assert client.get(begun.headers["location"]).status_code == 202
        assert len(client.get("/v1/queries/dumps").json()) == 3
    monkeypatch.setattr(endpoints, "ANSWER_SECONDS", 30.0)
    (row,) = client.get(begun.headers["location"], headers={"Accept": "application/json"}).json()
    assert row["sha256"] == sha256_of(dump)
    assert len(client.get("/v1/queries/dumps").json()) == 3
    assert send(client, dump).status_code == 201  # it is as if it had never come
    assert await_state(client, dump)["state"] == "indexed"


def test_a_key_makes_a_repeated_request_harmless(client: TestClient) -> None:
    key = {"Idempotency-Key": "k1"}
    first = do(client, "retention", {**_OLD, "yes": True}, **key)
    again = do(client, "retention", {**_OLD, "yes": True}, **key)
    assert first.json() == again.json() != []
    other = do(client, "compact", {}, **key)
    assert (other.status_code, other.json()["reason"]) == (409, "key")


def test_tasks_that_wait_are_limited(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "ANSWER_SECONDS", 0.0)
    with busy(client):
        answers = [do(client, "snapshot", {}) for _ in range(17)]
    assert [one.status_code for one in answers] == [202] * 16 + [429]


def test_a_job_is_shown_only_to_tokens_that_may_run_it(own: Path) -> None:
    secrets = {name: create_token(own, name, scopes=[Scope(name)]) for name in ("triage", "upkeep")}
    headers = {name: {"Authorization": f"Bearer {secret}"} for name, secret in secrets.items()}
    with serving(own) as client, pytest.MonkeyPatch.context() as patched:
        patched.setattr(endpoints, "ANSWER_SECONDS", 0.0)
        with busy(client):
            place = do(client, "snapshot", {}, **headers["upkeep"]).headers["location"]
            assert client.get(place, headers=headers["upkeep"]).status_code == 202
            assert client.get(place, headers=headers["triage"]).status_code == 404
        assert client.get("/v1/upkeep/none", headers=headers["upkeep"]).status_code == 404


@pytest.mark.slow
def test_a_forgotten_dump_is_in_no_file_of_a_running_service(client: TestClient, own: Path) -> None:
    manifest = {**MANIFEST, "device": "secret-device"}
    dump = new_dump()
    send(client, dump, manifest)
    assert await_state(client, dump)["state"] == "indexed"
    do(client, "snapshot", {})
    holding = [path for path in own.rglob("*.duckdb") if b"secret-device" in path.read_bytes()]
    assert len(holding) >= 1
    assert do(client, "forget", {"device": "secret-device", "yes": True}).status_code == 200
    assert do(client, "snapshot", {}).status_code == 200
    files = [path for path in own.rglob("*") if path.is_file() and path.suffix != ".jsonl"]
    assert not [path for path in files if b"secret-device" in path.read_bytes()]
    assert client.get("/v1/queries/dumps").json()


@pytest.mark.slow
def test_verify_reports_wrong_rows(client: TestClient) -> None:
    writing = service_of(client).warehouse.writing
    spoil = "UPDATE dumps SET n_events = 7 WHERE dump_id = 1"
    service_of(client).consumer.perform(lambda: writing.execute(spoil)).result(30)
    answer = do(client, "verify", {"share": 1}, Accept="application/vnd.apache.arrow.stream")
    (row,) = pa.ipc.open_stream(answer.content).read_all().to_pylist()
    assert (row["sha256"], row["tables"]) == (sha256_of(tiny_dump(0)), "dumps")
