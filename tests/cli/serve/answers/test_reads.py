"""Canned queries, the report, the schema and the status over HTTP."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.support.command import Run
from tests.support.cross_section import cross_section
from tests.support.service import service_of, serving
from tests.support.tiny_dumps import tiny_incoming
from tracehouse.cli.serve.app import make_app
from tracehouse.cli.serve.service import Service
from tracehouse.cli.serve.settings import ServiceSettings
from tracehouse.queries.formats import Format
from tracehouse.warehouse.catalogue.queries import list_queries

DUMPS = "/v1/queries/dumps"


@pytest.fixture(scope="module")
def client(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A client of a service on a copy of the farm."""
    copied = shutil.copytree(store, tmp_path_factory.mktemp("served") / "store")
    with serving(copied) as client:
        yield client


@pytest.mark.parametrize("form", cross_section(["json", "csv", "tsv", "arrow", "parquet"], 3))
def test_answers_are_the_bytes_of_the_command_line(
    client: TestClient, store: Path, run: Run, form: Format
) -> None:
    asked = ("query", "percentiles", "--model", "*", "--store", store, "--format", form)
    answer = client.get("/v1/queries/percentiles", params={"model": "*", "format": form})
    assert answer.status_code == 200
    assert answer.content == run(*asked).out
    assert answer.headers["content-length"] == str(len(answer.content))


def test_a_repeated_parameter_has_several_values(client: TestClient, store: Path, run: Run) -> None:
    devices = sorted({row["device"] for row in client.get(DUMPS).json()})[:2]
    answer = client.get(DUMPS, params={"device": devices, "build": ""})
    asked = [word for device in devices for word in ("--device", device)]
    assert answer.content == run("query", "dumps", *asked, "--store", store, "--format", "json").out
    assert {row["device"] for row in answer.json()} == set(devices)


def test_a_query_computed_in_python_is_asked_like_the_others(
    client: TestClient, store: Path, run: Run
) -> None:
    asked = ("query", "nightly_verdicts", "--head", "ch26", "--store", store, "--format", "csv")
    answer = client.get("/v1/queries/nightly_verdicts?head=ch26", headers={"Accept": "text/csv"})
    assert answer.content == run(*asked).out
    assert client.get("/v1/queries/nightly_verdicts?heads=ch26").status_code == 400


def test_the_catalogue_lists_every_query_with_parameters_and_columns(client: TestClient) -> None:
    listed = {query["name"]: query for query in client.get("/v1/queries").json()}
    assert listed.keys() == {*list_queries()}
    (limit,) = (one for one in listed["dumps"]["parameters"] if one["name"] == "device")
    assert (limit["type"], limit["is_required"], limit["default"]) == ("STRING[]", False, None)
    assert listed["dumps"]["columns"][0]["name"] == "dump_id"


def test_the_columns_told_of_computed_queries_are_those_answered(client: TestClient) -> None:
    (listed,) = (one for one in client.get("/v1/queries").json() if "nightly" in one["name"])
    row = client.get("/v1/queries/nightly_verdicts?head=ch26").json()[0]
    assert [column["name"] for column in listed["columns"]] == list(row)


def test_pages_put_together_are_the_answer(client: TestClient) -> None:
    whole, pages, address = client.get(f"{DUMPS}?model=*").json(), [], f"{DUMPS}?model=*&limit=40"
    while address:
        answer = client.get(address)
        pages.append(answer.json())
        address = answer.links.get("next", {}).get("url", "")
    assert len(pages) == -(-len(whole) // 40) > 1
    assert [row for page in pages for row in page] == whole


def test_an_answer_that_is_known_is_not_sent_again(client: TestClient) -> None:
    answer = client.get(DUMPS)
    tag = answer.headers["etag"]
    again = client.get(DUMPS, headers={"If-None-Match": f'"other", W/{tag}'})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    others = [f"{DUMPS}?format=csv", f"{DUMPS}?limit=5", "/v1/queries/ingest_errors"]
    assert [client.get(one, headers={"If-None-Match": tag}).status_code for one in others] == [
        200, 200, 200,
    ]  # fmt: skip


def test_head_tells_the_length_and_sends_nothing(client: TestClient) -> None:
    answer, head = client.get(DUMPS), client.head(DUMPS)
    assert head.content == b""
    assert head.headers["content-length"] == answer.headers["content-length"]


@pytest.mark.parametrize(
    ("address", "status", "words"),
    [
        ("/v1/queries/dump", 404, "did you mean dumps?"),
        ("/v1/queries/dumps?devices=x", 400, "no such parameter"),
        ("/v1/queries/dumps?device=nobody", 400, "'nobody' is not in the store"),
        ("/v1/queries/percentiles?since=yesterday", 400, "since"),
        ("/v1/queries/dumps?limit=many", 400, "limit=many"),
        ("/v1/report?base=ch26&head=ch26", 400, "ch26"),
        ("/v1/report?head=ch26&branch=main", 400, "either a head or a branch"),
        ("/v1/report?branch=mian", 400, "no build in the store is of the branch 'mian'"),
        ("/v1/report?heads=ch25", 400, "no such parameter 'heads'"),
        ("/v1/report?head=nothing", 400, "is not in the store"),
    ],
)
def test_a_question_without_an_answer_is_a_problem_that_says_why(
    client: TestClient, address: str, status: int, words: str
) -> None:
    answer = client.get(address)
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, answer.json()["status"]) == (status, status)
    assert words in answer.json()["detail"]


@pytest.mark.parametrize("form", cross_section(["html", "json", "junit", "markdown", "slack"], 5))
def test_the_report_is_that_of_the_command_line(
    client: TestClient, store: Path, run: Run, form: str
) -> None:
    asked = ("report", "--head", "ch26", "--store", store, "--format", form)
    answer = client.get("/v1/report", params={"head": "ch26", "format": form})
    assert answer.content == run(*asked).out
    assert answer.headers["tracehouse-verdict"] != ""
    known = {"If-None-Match": answer.headers["etag"]}
    again = client.get("/v1/report", params={"head": "ch26", "format": form}, headers=known)
    assert again.status_code == 304


@pytest.mark.slow
def test_the_report_is_of_the_settings_that_the_service_was_given(
    nightly_store: Path, run: Run, tmp_path: Path
) -> None:
    config = tmp_path / "team.toml"
    config.write_text('[serve]\nport = 0\n[[muted]]\nmodel = "*"\nreason = "not mine"\n')
    words = ("report", "--store", nightly_store, "--format", "json")
    copied = shutil.copytree(nightly_store, tmp_path / "store")
    service = Service(copied, ServiceSettings(free_bytes=0), config=config)
    with TestClient(make_app(service), "http://127.0.0.1") as client:
        answer = client.get("/v1/report?format=json").content
    assert answer == run(*words, "--config", config).out
    assert answer != run(*words).out


@pytest.mark.slow
def test_the_report_of_two_builds_is_that_of_the_command_line(
    client: TestClient, store: Path, run: Run
) -> None:
    builds = ("--base", "qt-qt00", "--head", "qt-qt01")
    asked = ("report", *builds, "--store", store, "--format", "markdown")
    answer = client.get("/v1/report?base=qt-qt00&head=qt-qt01", headers={"Accept": "text/markdown"})
    assert answer.content == run(*asked).out


@pytest.mark.slow
def test_a_reports_form_is_html_unless_another_is_wanted(client: TestClient) -> None:
    types = [
        client.get("/v1/report", headers={"Accept": accept}).headers["content-type"]
        for accept in ("*/*", "text/html,*/*;q=0.8", "application/json", "application/xml")
    ]
    html = "text/html; charset=utf-8"
    assert types == [html, html, "application/json", "application/xml"]


def test_the_schema_is_that_of_the_command_line(client: TestClient, store: Path, run: Run) -> None:
    out = run("schema", "--store", store, "--format", "json").out
    assert client.get("/v1/schema").content == out


def test_the_status_has_the_facts_of_the_command_line_and_the_services_own(
    client: TestClient, store: Path, run: Run
) -> None:
    facts = json.loads(run("status", "--store", store, "--format", "json").out)[0]
    answer = client.get("/v1/status")
    (found,) = answer.json()
    assert {*facts, "service_problem", "service_seconds"} == {*found}
    assert (found["dumps"], found["service_problem"]) == (facts["dumps"], "")
    assert answer.headers["cache-control"] == "no-store"


def test_the_status_counts_what_was_committed_since_the_last_snapshot(tmp_path: Path) -> None:
    with serving(tmp_path / "store", snapshot_seconds=3600) as client:
        hand_over(service_of(client), 1)
        await_(lambda: len(client.get(DUMPS).json()) == 1)
        (found,) = client.get("/v1/status").json()
    assert (found["dumps"], found["counted_at"]) == (1, None)


def test_a_commit_changes_the_tag_and_the_answer(tmp_path: Path) -> None:
    with serving(tmp_path / "store") as client:
        before = client.get(DUMPS)
        assert before.json() == []
        service = service_of(client)
        hand_over(service, 1)
        known = {"If-None-Match": before.headers["etag"]}
        await_(lambda: client.get(DUMPS, headers=known).status_code == 200)
        assert len(client.get(DUMPS).json()) == 1


@pytest.mark.slow
def test_questions_are_answered_while_dumps_are_committed_and_snapshots_published(
    tmp_path: Path,
) -> None:
    counts: list[list[int]] = [[], []]
    with serving(tmp_path / "store", snapshot_seconds=0.05) as client:
        service, is_over = service_of(client), threading.Event()

        def ask(found: list[int]) -> None:
            while not is_over.is_set():
                answer = client.get("/v1/queries/dumps?format=json")
                assert answer.status_code == 200, answer.text
                found.append(len(answer.json()))
                assert client.get("/v1/schema").status_code == 200

        threads = [threading.Thread(target=ask, args=[found]) for found in counts]
        for thread in threads:
            thread.start()
        for number in range(12):
            hand_over(service, number)
        await_(lambda: len(client.get(DUMPS).json()) == 12)
        is_over.set()
        for thread in threads:
            thread.join()
    assert all(found == sorted(found) and found for found in counts)


def hand_over(service: Service, number: int) -> None:
    service.inbox.accept(tiny_incoming(number))
    service.consumer.count_accepted()


def await_(is_so: Callable[[], bool]) -> None:
    for _ in range(600):
        if is_so():
            return
        threading.Event().wait(0.05)
    pytest.fail("nothing came of it in 30 s")
