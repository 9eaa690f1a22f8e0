from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from tests.support.documents import documented_figures
from tests.support.service import await_snapshot, service_of, serving
from tests.support.uploads import new_dump, send
from tests.tools.service.dumps import DumpMaker

Figures = dict[str, dict[frozenset[str], float]]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A client of a service that counts what all tests ask it."""
    with serving(tmp_path_factory.mktemp("store")) as client:
        yield client


def figures(client: TestClient) -> Figures:
    """Values of each figure by the values of its labels."""
    answer, found = client.get("/metrics"), Figures()
    assert answer.headers["content-type"].startswith("text/plain; version=")
    for family in text_string_to_metric_families(answer.text):
        for sample in family.samples:
            found.setdefault(sample.name, {})[frozenset(sample.labels.values())] = sample.value
    return found


def test_answers_are_counted_by_route_method_and_status(client: TestClient) -> None:
    for _ in range(3):
        client.get("/healthz")
    client.get("/nowhere/1")
    client.get("/nowhere/2")
    client.request("BREW", "/healthz")
    found = figures(client)
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
    client: TestClient, path: str, route: str, reason: str
) -> None:
    await_snapshot(client)
    client.get(path)
    assert figures(client)["tracehouse_http_problems_total"][frozenset({route, reason})] == 1


def test_metrics_export_the_figures_of_the_consumer_and_of_sql(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = service_of(client)
    for name, value in {
        "accepted": 7,
        "indexed": Counter({"lab": 3, None: 1}),
        "refused": Counter({"empty": 2}),
    }.items():
        monkeypatch.setattr(service.consumer, name, value)
    monkeypatch.setattr(service.sandbox, "killed", 3)
    found = figures(client)
    assert found["tracehouse_dumps_accepted_total"] == {frozenset(): 7}
    assert found["tracehouse_dumps_indexed_total"] == {frozenset(): 4}
    assert found["tracehouse_dumps_refused_total"] == {frozenset({"empty"}): 2}
    assert found["tracehouse_sql_killed_total"] == {frozenset(): 3}
    for name in ("consumer_failing", "audit_failing"):
        assert found[f"tracehouse_{name}"] == {frozenset(): 0}
    for name in ("backlog_dumps", "backlog_bytes", "lag_seconds", "drain_seconds"):
        assert found[f"tracehouse_{name}"][frozenset()] >= 0
    assert found["tracehouse_disk_free_bytes"][frozenset()] > 0
    assert found["tracehouse_snapshot_age_seconds"][frozenset()] >= 0
    assert found["process_resident_memory_bytes"][frozenset()] > 0


def test_commits_of_small_and_large_uploads_are_timed(client: TestClient) -> None:
    dump = new_dump()
    for one in (dump, dump, DumpMaker(100, runs=100).dump(1)):
        assert send(client, one).status_code < 300
    # one was there already
    assert figures(client)["tracehouse_commit_seconds_count"] == {frozenset(): 2}


def test_each_service_has_its_own_metrics(client: TestClient, tmp_path: Path) -> None:
    with serving(tmp_path) as other:
        client.get("/")
        assert "tracehouse_http_answers_total" not in figures(other)


def test_a_disk_that_is_gone_has_no_room(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Path) -> None:
        raise OSError(2, "No such file or directory")

    monkeypatch.setattr("shutil.disk_usage", fail)
    assert figures(client)["tracehouse_disk_free_bytes"] == {frozenset(): 0}


def test_every_figure_that_is_documented_is_there(client: TestClient) -> None:
    client.get("/v1/dumps/no-hash")  # a problem
    answer = client.get("/metrics")
    families = {family.name for family in text_string_to_metric_families(answer.text)}
    ours = {name.removeprefix("tracehouse_") for name in families if name.startswith("tracehouse_")}
    assert {name.removesuffix("_total") for name in ours} == documented_figures("/metrics")
