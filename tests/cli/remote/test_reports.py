"""A service's report comes in the form that is asked for, and decides the exit status."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support.command import Run
from tests.support.stand_in_service import StandIn, stand_in_service


@pytest.fixture
def service() -> Iterator[StandIn]:
    with stand_in_service() as stand_in:
        content = {"summary": "b2: 1 confirmed regression", "verdict": "regressions", "notes": []}
        stand_in.answers["/v1/report"] = ("application/json", json.dumps(content).encode())
        yield stand_in


def questions(service: StandIn) -> list[dict[str, list[str]]]:
    return [parse_qs(urlsplit(asked.path).query) for asked in service.asked]


def test_a_report_of_a_service_is_printed_unchanged(run: Run, service: StandIn) -> None:
    args = ("report", "--base", "b 1", "--head", "b2", "--format", "html")
    done = run("--url", service.url, *args)
    assert (done.code, done.out, done.err) == (0, service.answers["/v1/report"][1], "")
    assert questions(service) == [{"base": ["b 1"], "head": ["b2"], "format": ["html"]}]


def test_night_is_asked_for_without_a_base_and_its_verdict_counts(
    run: Run, service: StandIn, tmp_path: Path
) -> None:
    file = tmp_path / "report.md"
    done = run("--url", service.url, "report", "--output", file, "--fail-on-regression")
    assert (done.code, done.err) == (3, f"b2: 1 confirmed regression\nreport: {file}\n")
    assert questions(service) == [{"format": ["markdown"]}, {"format": ["json"]}]
    assert file.read_bytes() == service.answers["/v1/report"][1]


def test_the_printed_report_decides_the_exit_status(run: Run, service: StandIn) -> None:
    args = ("report", "--format", "json", "--fail-on-regression")
    assert run("--url", service.url, *args).code == 3
    assert questions(service) == [{"format": ["json"]}]


def test_report_from_a_service_refuses_local_settings(
    run: Run, service: StandIn, tmp_path: Path
) -> None:
    done = run("--url", service.url, "report", "--config", tmp_path / "t.toml")
    assert (done.code, "a service uses its own settings" in done.err, service.asked) == (
        2,
        True,
        [],
    )
