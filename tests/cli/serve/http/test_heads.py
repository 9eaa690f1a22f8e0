from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.documents import ROOT
from tests.support.service import serving
from tracehouse.cli.serve.answers.agents import CALLS
from tracehouse.cli.serve.changes import MOST_LISTENERS
from tracehouse.cli.serve.http.connections import (
    COOKIE_BYTES,
    HEAD_BYTES,
    HEAD_SECONDS,
    HEADER_BYTES,
    MOST_CONNECTIONS,
    MOST_PARAMETERS,
)
from tracehouse.cli.serve.http.endpoints import GRACE_SECONDS, IDLE_SECONDS, LEAST_RATE, SHORT_BYTES
from tracehouse.cli.serve.page.page_request import FORM_BYTES, MOST_FIELDS

_PATHS = ["/v1/queries/coverage", "/explore/build_history", "/login", "/healthz", "/none"]


@pytest.mark.parametrize("path", _PATHS)
def test_an_address_of_too_many_parameters_is_refused_whatever_it_asks_for(
    tmp_path: Path, path: str
) -> None:
    with serving(tmp_path / "store") as client:
        for query in ("&".join(["a=1"] * (MOST_PARAMETERS + 1)), "&" * MOST_PARAMETERS):
            answer = client.get(f"{path}?{query}")
            assert (answer.status_code, answer.json()["reason"]) == (400, "parameter_count")


@pytest.mark.parametrize("name", ["Accept", "Content-Type", "If-None-Match", "Cookie", "Host"])
def test_a_header_that_is_parsed_is_limited_before_that(tmp_path: Path, name: str) -> None:
    most = COOKIE_BYTES if name == "Cookie" else HEADER_BYTES
    half = "a," * (most // 4)
    with serving(tmp_path / "store") as client:
        for values, is_refused in (([half], False), ([half, half, half], True)):
            headers = [(name, value) for value in values]
            answer = client.get("/v1/queries", headers=headers)
            assert (answer.status_code == 431) == is_refused
        assert answer.json()["reason"] == "header_too_long"


def test_an_address_may_have_as_many_parameters_as_the_limit_says(tmp_path: Path) -> None:
    query = "&".join(["format=json"] * MOST_PARAMETERS)
    with serving(tmp_path / "store") as client:
        assert client.get(f"/v1/queries/dumps?{query}").status_code == 200


def test_the_document_of_limits_states_those_of_requests() -> None:
    text = (ROOT / "docs" / "limits.md").read_text()
    for row in (
        f"become as an address | {HEAD_BYTES >> 10} KiB | 431 `head_too_long` |",
        f"| parameters of an address; of SQL | {MOST_PARAMETERS:,}; {MOST_PARAMETERS:,} | 400 |",
        f"| time until the head is there | {HEAD_SECONDS:g} s |",
        f"| a body that is no upload: SQL, upkeep, `/mcp` | {SHORT_BYTES >> 10} KiB | 413 |",
        f"| cookies; any other header that is parsed | {COOKIE_BYTES >> 10} KiB; "
        f"{HEADER_BYTES >> 10} KiB | 431 `header_too_long` |",
        f"| a form of the page; its fields | {FORM_BYTES >> 10} KiB; {MOST_FIELDS} |",
        f"| {IDLE_SECONDS:g} s; {LEAST_RATE >> 10} KiB per second | 408 `slow` |",
        f"its rate after {GRACE_SECONDS:g} s",
        f"| requests of agents at a time; that wait | {CALLS[0]}; {CALLS[1]} | 429 `busy` |",
        f"| streams of [changes](service.md#changes) | {MOST_LISTENERS:,} |",
        f"| connections | {MOST_CONNECTIONS:,} |",
    ):
        assert row in text
