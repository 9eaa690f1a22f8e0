from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from cli.serve.access.audit import FILE_NAME
from cli.serve.access.authorization import Scope
from cli.serve.access.tokens import create_token
from cli.serve.http import app, health
from tests.support.cross_section import cross_section
from tests.support.service import serving

SHA256 = "ab" * 32


async def _put(request: Request) -> Response:
    request.app.state.service.access.need(request, Scope.INGEST)
    return JSONResponse({}, 418 if await request.body() == b"no" else 201)


async def _ask(request: Request) -> Response:
    request.state.what = (await request.body()).decode()
    raise ValueError("a bug")


@pytest.fixture(autouse=True)
def _routes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Routes that stand for those that write."""
    routes = [
        health.healthz,
        health.readyz,
        Route("/v1/dumps/{sha256}", _put, methods=["PUT"]),
        Route("/v1/sql", _ask, methods=["POST"]),
    ]
    monkeypatch.setattr(app, "list_routes", lambda: routes)


def audited(store: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (store / FILE_NAME).read_text().splitlines()]


def test_an_upload_is_audited_and_logged_with_its_dump(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    secret = create_token(tmp_path, "lab", scopes=[Scope.INGEST])
    headers = {"Authorization": f"Bearer {secret}", "X-Request-Id": "device-7.1"}
    with serving(tmp_path) as client:
        answer = client.put(f"/v1/dumps/{SHA256}", content=b"x" * 7, headers=headers)
    assert (answer.status_code, answer.headers["x-request-id"]) == (201, "device-7.1")
    (entry,) = audited(tmp_path)
    assert entry.pop("milliseconds") > 0
    assert entry.pop("time")
    assert entry == {
        "bearer": "lab",
        "action": "PUT /v1/dumps/{sha256}",
        "what": SHA256,
        "result": "ok",
        "status": 201,
        "bytes": 7,
        "request_id": "device-7.1",
    }
    (line,) = capfd.readouterr().err.splitlines()
    said = json.loads(line)
    assert (said["dump"], said["status"], said["bearer"]) == (SHA256, 201, "lab")
    assert secret not in line
    assert secret not in (tmp_path / FILE_NAME).read_text()


def test_a_refusal_is_audited_with_its_reason(tmp_path: Path) -> None:
    secret = create_token(tmp_path, "lab", scopes=[Scope.READ])
    with serving(tmp_path) as client:
        client.put(f"/v1/dumps/{SHA256}", headers={"Authorization": f"Bearer {secret}"})
    (entry,) = audited(tmp_path)
    assert (entry["bearer"], entry["result"], entry["status"]) == ("lab", "no_scope", 403)


def test_who_has_no_token_is_logged_and_cannot_fill_the_audit_log(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    create_token(tmp_path, "lab", scopes=[Scope.INGEST])
    with serving(tmp_path) as client:
        client.put(f"/v1/dumps/{SHA256}", headers={"Authorization": "Bearer x"})
        client.put(f"/v1/dumps/{SHA256}")
        client.put(f"/v1/dumps/{SHA256}", headers={"Cookie": "tracehouse=x"})
    assert audited(tmp_path) == []
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert [(line["status"], line["reason"]) for line in lines] == [
        (401, "unknown_token"),
        (401, "no_token"),
        (403, "other_site"),
    ]


def test_a_refusal_that_gives_no_reason_is_not_audited_as_done(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        client.put(f"/v1/dumps/{SHA256}", content=b"no")
    (entry,) = audited(tmp_path)
    assert (entry["result"], entry["status"]) == ("refused", 418)


def test_a_bug_is_an_answer_and_is_audited_and_logged(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with serving(tmp_path) as client:
        answer = client.post("/v1/sql", content=b"SELECT 1")
    assert (answer.status_code, answer.json()["reason"]) == (500, "internal")
    assert "a bug" not in answer.text
    (entry,) = audited(tmp_path)
    assert (entry["what"], entry["status"]) == ("SELECT 1", 500)
    assert json.loads(capfd.readouterr().err.splitlines()[0])["level"] == "error"


def test_what_only_reads_is_not_audited_and_probes_are_not_logged(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with serving(tmp_path) as client:
        client.get("/healthz")
        client.get("/readyz")
        client.post("/nowhere")
    assert audited(tmp_path) == []
    (line,) = capfd.readouterr().err.splitlines()
    assert (json.loads(line)["path"], json.loads(line)["reason"]) == ("/nowhere", "not_found")


@pytest.mark.parametrize("given", cross_section(["", "a b", "x" * 65, "\x1b"], 2))
def test_a_request_id_of_ours_takes_the_place_of_a_strange_one(tmp_path: Path, given: str) -> None:
    with serving(tmp_path) as client:
        answers = [client.get("/healthz", headers={"X-Request-Id": given}) for _ in range(2)]
    first, second = (answer.headers["x-request-id"] for answer in answers)
    assert given != first != second


def test_no_page_of_another_site_shows_or_loads_an_answer(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        headers = client.get("/healthz").headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cross-origin-resource-policy"] == "same-origin"
