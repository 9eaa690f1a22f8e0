"""Questions to a service are those to its store, and so are the answers and the errors."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pyarrow as pa

from tests.support.command import Run
from tests.support.stand_in_service import Refused, StandIn, arrow_answer
from tracehouse.cli.serve.settings import ServiceSettings
from tracehouse.ingest import remote


def test_parameters_are_sent_under_their_names(run: Run, service: StandIn) -> None:
    service.answers["/v1/queries/percentiles"] = arrow_answer(pa.table({"a": [1]}))
    args = ("--device", "pixel 8+", "--device", "é*", "--model", "a&b=c")
    assert run("--url", service.url, "query", "percentiles", *args).code == 0
    sent = urlsplit(service.asked[0].path)
    expected = {"device": ["pixel 8+", "é*"], "model": ["a&b=c"], "approx": ["false"]}
    assert parse_qs(sent.query) == expected


def test_statement_and_its_parameters_are_sent(run: Run, service: StandIn) -> None:
    service.answers["/v1/sql"] = arrow_answer(pa.table({"a": [1]}))
    args = ("sql", "SELECT $x AS x", "--param", "x=1")
    assert run("--url", service.url, *args).code == 0
    assert json.loads(service.asked[0].body) == {"sql": "SELECT $x AS x", "params": {"x": "1"}}


def test_misspelt_names_are_refused_before_the_service_is_asked(
    run: Run, service: StandIn, store: Path
) -> None:
    for args in (("query", "dump"), ("query", "percentiles", "--modle", "x")):
        here, there = run(*args, "--store", store), run("--url", service.url, *args)
        assert (there.code, there.err) == (here.code, here.err) == (2, here.err)
    assert service.asked == []


def test_an_error_of_the_service_is_reported_like_one_of_a_store(
    run: Run, service: StandIn
) -> None:
    service.refusals = [Refused(400, detail="query 'percentiles', parameter 'model': no mv9")]
    done = run("--url", service.url, "query", "percentiles", "--model", "mv9")
    assert (done.code, done.error) == (1, "error: query 'percentiles', parameter 'model': no mv9")


def test_files_are_not_read_through_a_service(run: Run, service: StandIn) -> None:
    done = run("--url", service.url, "sql", "SELECT 1", "--allow-files")
    assert (done.code, service.asked) == (1, [])
    assert done.error == "error: --allow-files needs a local store; leave out --url"


def test_an_answer_of_an_unexpected_type_is_reported(run: Run, service: StandIn) -> None:
    for path, args in (
        ("/v1/queries/dumps", ("query", "dumps")),
        ("/v1/status", ("status",)),
    ):
        service.answers[path] = ("text/html", b"<html>")
        done = run("--url", service.url, *args)
        assert done.code == 1
        assert done.error == (
            f"error: {service.url}{path}: unexpected answer; "
            "is this the address of a tracehouse service?"
        )


def test_a_command_that_waits_asks_again(run: Run, service: StandIn) -> None:
    service.answers["/v1/queries/dumps"] = arrow_answer(pa.table({"a": [1]}))
    service.refusals = [Refused(503, {"Retry-After": "0"})] * 2
    assert run("--url", service.url, "query", "dumps").code == 1
    assert run("--url", service.url, "query", "dumps", "--wait", "60").code == 0


def test_status_is_the_row_of_the_service(run: Run, service: StandIn) -> None:
    flags = {"is_uncompacted": False, "damaged_dumps": 0, "damaged_tables": 0}
    row = {"problem": "", "dumps": 12, "x": [1, 2], **flags}
    service.answers["/v1/status"] = arrow_answer(pa.Table.from_pylist([row]))
    done = run("--url", service.url, "status", "--format", "json")
    assert (done.code, json.loads(done.text)) == (0, [row])
    assert "dumps" in run("--url", service.url, "status").text
    row["problem"] = "the disk is full"
    service.answers["/v1/status"] = arrow_answer(pa.Table.from_pylist([row]))
    done = run("--url", service.url, "status")
    assert (done.code, done.error) == (1, f"error: {service.url}: the disk is full")


def test_a_service_gives_up_an_answer_before_its_client_does() -> None:
    assert ServiceSettings().query_seconds < remote._TIMEOUT_SECONDS
