from __future__ import annotations

from pathlib import Path

import pytest

from cli.serve.changes import MOST_LISTENERS
from cli.serve.http.bodies import GRACE_SECONDS, IDLE_SECONDS, LEAST_RATE, SHORT_BYTES
from cli.serve.http.connections import HEAD_SECONDS, MOST_CONNECTIONS
from cli.serve.http.heads import HEAD_BYTES, MOST_PARAMETERS
from tests.support.documents import ROOT
from tests.support.service import serving

_PATHS = ["/v1/queries/coverage", "/latency", "/login", "/healthz", "/none"]


@pytest.mark.parametrize("path", _PATHS)
def test_an_address_of_too_many_parameters_is_refused_whatever_it_asks_for(
    tmp_path: Path, path: str
) -> None:
    with serving(tmp_path / "store") as client:
        for query in ("&".join(["a=1"] * (MOST_PARAMETERS + 1)), "&" * MOST_PARAMETERS):
            answer = client.get(f"{path}?{query}")
            assert (answer.status_code, answer.json()["reason"]) == (400, "parameter_count")


def test_an_address_may_have_as_many_parameters_as_the_limit_says(tmp_path: Path) -> None:
    query = "&".join(["format=json"] * MOST_PARAMETERS)
    with serving(tmp_path / "store") as client:
        assert client.get(f"/v1/queries/dumps?{query}").status_code == 200


def test_the_document_of_limits_states_those_of_requests() -> None:
    text = (ROOT / "docs" / "limits.md").read_text()
    for row in (
        f"become as an address | {HEAD_BYTES >> 10} KiB | 431 `head_too_long` |",
        f"| parameters of an address | {MOST_PARAMETERS:,} | 400 `parameter_count` |",
        f"| time until the head is there | {HEAD_SECONDS:g} s |",
        f"a form of the page | {SHORT_BYTES >> 10} KiB | 413 |",
        f"| {IDLE_SECONDS:g} s; {LEAST_RATE >> 10} KiB per second | 408 `slow` |",
        f"its rate after {GRACE_SECONDS:g} s",
        f"| streams of [changes](service.md#changes) | {MOST_LISTENERS:,} |",
        f"| connections | {MOST_CONNECTIONS:,} |",
    ):
        assert row in text
