from __future__ import annotations

import json
from http import HTTPStatus

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from tracehouse.cli.serve.http.problems import TYPE, Problem, as_problem, problem_response
from tracehouse.ingest.errors import ManifestError
from tracehouse.queries.report.night import OptionError
from tracehouse.warehouse.errors import (
    ArchiveError,
    FullDiskError,
    QueryError,
    StoreError,
    UnknownQueryError,
)


def test_a_problem_says_what_is_wrong_to_people_and_to_programs() -> None:
    problem = Problem(
        HTTPStatus.TOO_MANY_REQUESTS, "busy", "try\x1b later", retry_after=3, headers={"X-A": "b"}
    )
    answer = problem_response(problem)
    assert (answer.status_code, answer.media_type) == (429, TYPE)
    assert (answer.headers["retry-after"], answer.headers["x-a"]) == ("3", "b")
    assert json.loads(bytes(answer.body)) == {
        "status": 429,
        "reason": "busy",
        "detail": "try\\x1b later",
    }


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (HTTPException(405, headers={"Allow": "GET"}), 405, "method_not_allowed"),
        (ClientDisconnect(), 400, "disconnected"),
        (UnknownQueryError("x", ("y",)), 404, "unknown_query"),
        (StoreError("a.store", "full"), 503, "store"),
        (FullDiskError("a.store", "No space left on device"), 507, "disk_full"),
        (ArchiveError("a.store", "is damaged"), 503, "store"),
        (QueryError("wrong"), 400, "refused"),
        (ManifestError("a.etdp", "no device"), 400, "manifest"),
        (ValueError("secret"), 500, "internal"),
    ],
)
def test_every_error_is_a_problem(error: Exception, status: int, reason: str) -> None:
    problem = as_problem(error)
    assert (problem.status_code, problem.reason) == (status, reason)
    assert "secret" not in problem.detail


@pytest.mark.parametrize(
    ("error", "detail"),
    [
        (HTTPException(404), "Not Found: /v1/openapi.json lists all endpoints"),
        (OptionError("report", "--head", "no such build"), "head: no such build"),
    ],
)
def test_problems_name_remedies_that_http_clients_can_use(error: Exception, detail: str) -> None:
    assert as_problem(error).detail == detail


def test_headers_of_an_error_are_kept() -> None:
    assert as_problem(HTTPException(405, headers={"Allow": "GET"})).headers == {"Allow": "GET"}
    assert as_problem(StoreError("a.store", "full")).headers == {"Retry-After": "5"}
