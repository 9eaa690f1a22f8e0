from __future__ import annotations

import json
from typing import Any, NamedTuple

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.support.service import serving
from tracehouse.cli.serve import app, metrics
from tracehouse.cli.serve.access.audit import FILE_NAME
from tracehouse.cli.serve.access.authorization import Scope
from tracehouse.cli.serve.access.tokens import create_token

SHA256 = "ab" * 32
DUMP = f"/v1/dumps/{SHA256}"
# By name, which is the request's id: requests to a service without tokens, and the headers of an
# upload to one with tokens.
OPEN: dict[str, tuple[str, str, bytes]] = {
    "no reason": ("PUT", DUMP, b"no"),
    "bug": ("POST", "/v1/sql", b"SELECT 1"),
    "probe": ("GET", "/healthz", b""),
    "other probe": ("GET", "/readyz", b""),
    "nowhere": ("POST", "/nowhere", b""),
}
CLOSED = {
    "upload": {"Authorization": "Bearer {ingest}"},
    "reader": {"Authorization": "Bearer {read}"},
    "unknown": {"Authorization": "Bearer x"},
    "nobody": {},
    "cookie": {"Cookie": "tracehouse=x"},
}
STRANGE_IDS = {"empty": "", "space": "a b", "long": "x" * 65, "escape": "\x1b"}


class Recorded(NamedTuple):
    """Answers to requests, and what was written of them to the audit log and the log, by id."""

    answers: dict[str, httpx2.Response]
    audited: dict[str, dict[str, Any]]
    logged: dict[str, dict[str, Any]]
    secrets: dict[str, str]


async def _put(request: Request) -> Response:
    request.app.state.service.access.need(request, Scope.INGEST)
    return JSONResponse({}, 418 if await request.body() == b"no" else 201)


async def _ask(request: Request) -> Response:
    request.state.what = (await request.body()).decode()
    raise ValueError("a bug")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Of services with and without tokens, whose routes stand for those that write."""
    routes = [
        metrics.healthz,
        metrics.readyz,
        Route("/v1/dumps/{sha256}", _put, methods=["PUT"]),
        Route("/v1/sql", _ask, methods=["POST"]),
    ]
    written: list[bytes] = []
    recorded = Recorded({}, {}, {}, {})
    store, closed = (tmp_path_factory.mktemp(name) for name in ("open", "closed"))
    for scope in (Scope.INGEST, Scope.READ):
        recorded.secrets[scope] = create_token(closed, f"lab-{scope}", scopes=[scope])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(app, "EARLY", routes)
        patched.setattr(app, "late_routes", list)
        patched.setattr(app, "write_standard_error", written.append)
        with serving(store) as client:
            for name, (method, path, content) in OPEN.items():
                headers = {"X-Request-Id": name.replace(" ", "-")}
                answer = client.request(method, path, content=content, headers=headers)
                recorded.answers[name] = answer
            for name, given in STRANGE_IDS.items():
                recorded.answers[name] = client.get("/healthz", headers={"X-Request-Id": given})
        with serving(closed) as client:
            for name, shown in CLOSED.items():
                headers = {key: text.format(**recorded.secrets) for key, text in shown.items()}
                headers["X-Request-Id"] = name
                recorded.answers[name] = client.put(DUMP, content=b"x" * 7, headers=headers)
    entries = b"".join((one / FILE_NAME).read_bytes() for one in (store, closed))
    recorded.audited.update(_by_id(entries))
    recorded.logged.update(_by_id(b"".join(written)))
    return recorded


def _by_id(lines: bytes) -> dict[str, dict[str, Any]]:
    said = map(json.loads, lines.splitlines())
    return {one["request_id"].replace("-", " "): one for one in said if "request_id" in one}


def test_an_upload_is_audited_and_logged_with_its_dump(recorded: Recorded) -> None:
    answer, entry = recorded.answers["upload"], dict(recorded.audited["upload"])
    assert (answer.status_code, answer.headers["x-request-id"]) == (201, "upload")
    assert entry.pop("milliseconds") > 0
    assert entry.pop("time")
    assert entry == {
        "bearer": "lab-ingest",
        "action": "PUT /v1/dumps/{sha256}",
        "what": SHA256,
        "result": "ok",
        "status": 201,
        "bytes": 7,
        "request_id": "upload",
    }
    line = recorded.logged["upload"]
    assert (line["dump"], line["status"], line["bearer"]) == (SHA256, 201, "lab-ingest")
    assert not any(secret in repr(recorded[1:3]) for secret in recorded.secrets.values())


def test_a_refusal_is_audited_with_its_reason_if_it_has_one(recorded: Recorded) -> None:
    entry = recorded.audited["reader"]
    found = (entry["bearer"], entry["result"], entry["status"])
    assert found == ("lab-read", "no_scope", 403)
    entry = recorded.audited["no reason"]
    assert (entry["result"], entry["status"]) == ("refused", 418)


def test_a_client_without_a_token_is_logged_and_cannot_fill_the_audit_log(
    recorded: Recorded,
) -> None:
    names = {"unknown": 401, "nobody": 401, "cookie": 403}
    assert recorded.audited.keys().isdisjoint(names)
    found = {
        name: (recorded.logged[name]["status"], recorded.logged[name]["reason"]) for name in names
    }
    assert found == {
        "unknown": (401, "unknown_token"), "nobody": (401, "no_token"),
        "cookie": (403, "other_site"),
    }  # fmt: skip


def test_a_bug_is_answered_with_500_audited_and_logged(recorded: Recorded) -> None:
    answer, entry = recorded.answers["bug"], recorded.audited["bug"]
    assert (answer.status_code, answer.json()["reason"]) == (500, "internal")
    assert "a bug" not in answer.text
    assert (entry["what"], entry["status"]) == ("SELECT 1", 500)
    assert recorded.logged["bug"]["level"] == "error"


def test_reads_are_not_audited_and_probes_are_not_logged(recorded: Recorded) -> None:
    assert recorded.audited.keys() == {"no reason", "bug", "upload", "reader"}
    assert recorded.logged.keys().isdisjoint({"probe", "other probe"})
    line = recorded.logged["nowhere"]
    assert (line["path"], line["reason"]) == ("/nowhere", "not_found")


def test_a_strange_request_id_is_replaced_by_a_new_one(recorded: Recorded) -> None:
    given = STRANGE_IDS.values()
    found = [recorded.answers[name].headers["x-request-id"] for name in STRANGE_IDS]
    assert len({*given, *found}) == len(given) + len(found)


def test_headers_keep_other_sites_from_framing_or_loading_answers(recorded: Recorded) -> None:
    headers = recorded.answers["probe"].headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cross-origin-resource-policy"] == "same-origin"
