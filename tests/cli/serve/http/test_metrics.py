from __future__ import annotations

import re
import time
from collections import Counter
from pathlib import Path

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from cli.serve.access.authorization import Scope
from cli.serve.access.tokens import create_token
from tests.support.documents import ROOT
from tests.support.service import serving
from tests.support.tiny_dumps import tiny_dump
from tests.support.uploads import put
from tests.tools.service.dumps import DumpMaker
from warehouse.opening.snapshots import find_snapshots

Series = tuple[str, frozenset[tuple[str, str]]]


def figures(answer: httpx2.Response) -> dict[str, dict[frozenset[str], float]]:
    """Values of each figure by the values of its labels."""
    found: dict[str, dict[frozenset[str], float]] = {}
    for family in text_string_to_metric_families(answer.text):
        for sample in family.samples:
            found.setdefault(sample.name, {})[frozenset(sample.labels.values())] = sample.value
    return found


def test_answers_are_counted_by_route_method_and_status(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        for _ in range(3):
            client.get("/healthz")
        client.get("/nowhere/1")
        client.get("/nowhere/2")
        client.request("BREW", "/healthz")
        found = figures(client.get("/metrics"))
    answers = found["tracehouse_http_answers_total"]
    assert answers[frozenset({"/healthz", "GET", "200"})] == 3
    assert answers[frozenset({"unknown", "GET", "404"})] == 2
    assert answers[frozenset({"/healthz", "other", "405"})] == 1
    assert found["tracehouse_http_problems_total"][frozenset({"unknown", "not_found"})] == 2
    assert found["tracehouse_http_seconds_count"][frozenset({"/healthz", "GET"})] == 3


@pytest.mark.parametrize(
    ("path", "route", "reason"),
    [
        ("/dumps/00zz", "/dumps/{sha256}", "unknown_dump"),
        ("/sql?sql=SELEC", "/sql", "statement"),
        ("/v1/report?made_up=1", "/v1/report", "parameter"),
    ],
)
def test_refusals_are_counted_by_reason_those_of_the_page_too(
    tmp_path: Path, path: str, route: str, reason: str
) -> None:
    with serving(tmp_path) as client:
        while not find_snapshots(tmp_path):
            time.sleep(0.02)
        client.get(path)
        found = figures(client.get("/metrics"))
    assert found["tracehouse_http_problems_total"] == {frozenset({route, reason}): 1}


def test_what_the_consumer_says_is_told(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        consumer = client.app.state.service.consumer
        consumer.accepted, consumer.indexed = 7, 4
        consumer.refused = Counter({"bad_identifier": 2})
        found = figures(client.get("/metrics"))
    assert found["tracehouse_dumps_accepted_total"] == {frozenset(): 7}
    assert found["tracehouse_dumps_indexed_total"] == {frozenset(): 4}
    assert found["tracehouse_dumps_refused_total"] == {frozenset({"bad_identifier"}): 2}
    assert found["tracehouse_consumer_failing"] == {frozenset(): 0}
    for name in (
        "backlog_dumps",
        "backlog_bytes",
        "lag_seconds",
        "drain_seconds",
    ):
        assert found[f"tracehouse_{name}"][frozenset()] >= 0
    assert found["tracehouse_disk_free_bytes"][frozenset()] > 0
    assert found["tracehouse_snapshot_age_seconds"][frozenset()] >= 0
    assert found["tracehouse_audit_failing"] == {frozenset(): 0}
    assert found["process_resident_memory_bytes"][frozenset()] > 0


def test_commits_of_small_and_large_uploads_are_timed(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        for dump in (tiny_dump(1), tiny_dump(1), DumpMaker(100, runs=100).dump(1)):
            assert put(client, dump).status_code < 300
        found = figures(client.get("/metrics"))
    assert found["tracehouse_commit_seconds_count"] == {frozenset(): 2}  # one was there already


def test_statements_that_were_killed_are_counted(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        client.app.state.service.sandbox.killed = 3
        found = figures(client.get("/metrics"))
    assert found["tracehouse_sql_killed_total"] == {frozenset(): 3}


def test_figures_are_for_readers(tmp_path: Path) -> None:
    secret = create_token(tmp_path, "watch", scopes=[Scope.READ])
    with serving(tmp_path) as client:
        assert client.get("/metrics").status_code == 401
        answer = client.get("/metrics", headers={"Authorization": f"Bearer {secret}"})
    assert answer.headers["content-type"].startswith("text/plain; version=")


def test_two_services_count_each_their_own(tmp_path: Path) -> None:
    with serving(tmp_path / "a") as one, serving(tmp_path / "b") as other:
        one.get("/healthz")
        found = figures(other.get("/metrics"))
    assert "tracehouse_http_answers_total" not in found


def test_a_disk_that_is_gone_has_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Path) -> None:
        raise OSError(2, "No such file or directory")

    with serving(tmp_path) as client:
        monkeypatch.setattr("shutil.disk_usage", fail)
        found = figures(client.get("/metrics"))
    assert found["tracehouse_disk_free_bytes"] == {frozenset(): 0}


def test_every_figure_that_is_documented_is_there(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "service.md").read_text(encoding="utf-8").partition("`/metrics` has")[2]
    rows = re.findall(r"^\| (`.*?`) \|", text, re.MULTILINE)
    documented = {
        name for row in rows for name in re.findall(r"`(\w+?)(?:_total)?(?:\{.*?\})?`", row)
    }
    with serving(tmp_path) as client:
        client.get("/nowhere")
        answer = client.get("/metrics")
    families = {family.name for family in text_string_to_metric_families(answer.text)}
    ours = {name.removeprefix("tracehouse_") for name in families if name.startswith("tracehouse_")}
    assert {name.removesuffix("_total") for name in ours} == documented
