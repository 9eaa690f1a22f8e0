from __future__ import annotations

from typing import Any

import pytest
from starlette.requests import Request

from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.http.responses import TABLE_FORMS, Page, choose_form, read_page


def asking(query: str = "", **headers: str) -> Request:
    scope: dict[str, Any] = {
        "type": "http",
        "method": "GET",
        "path": "/",
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    return Request(scope)


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("*/*", "json"),
        ("text/csv", "csv"),
        ("TEXT/CSV; charset=utf-8", "csv"),
        ("text/html,application/xhtml+xml,*/*;q=0.8", "json"),
        ("text/csv;q=0.4, text/tab-separated-values;q=0.5", "tsv"),
        ("text/*", "csv"),
        ("text/*;q=0.5, text/csv;q=0.1", "tsv"),
        ("application/vnd.apache.arrow.stream, */*;q=0.1", "arrow"),
        ("application/json;q=0, */*", "csv"),
        ("application/json;q=much, application/vnd.apache.parquet;q=0.1", "parquet"),
    ],
)
def test_the_accept_header_chooses_the_preferred_format(accept: str, form: str) -> None:
    assert choose_form(asking(accept=accept), TABLE_FORMS) == form


def test_requests_without_accept_get_the_first_format() -> None:
    assert choose_form(asking(), TABLE_FORMS) == "json"


@pytest.mark.parametrize("accept", ["image/png", "application/json;q=0", ",;,", "*/*;q=0"])
def test_a_form_that_is_not_offered_is_not_acceptable(accept: str) -> None:
    with pytest.raises(Problem) as caught:
        choose_form(asking(accept=accept), TABLE_FORMS)
    assert (caught.value.status_code, caught.value.reason) == (406, "not_acceptable")
    assert "text/csv" in caught.value.detail


def test_a_format_in_the_address_beats_accept() -> None:
    assert choose_form(asking("format=tsv", accept="text/csv"), TABLE_FORMS) == "tsv"
    with pytest.raises(Problem, match="wanted one of json, csv") as caught:
        choose_form(asking("format=table"), TABLE_FORMS)
    assert caught.value.status_code == 400


def test_a_page_is_read() -> None:
    assert read_page(asking()) == Page(None, 0)
    assert read_page(asking("limit=5&offset=10")) == Page(5, 10)


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=-1", "offset=x", "limit=", "offset=" + "9" * 99]
)
def test_an_invalid_page_is_refused(query: str) -> None:
    with pytest.raises(Problem, match="wanted a whole number") as caught:
        read_page(asking(query))
    assert caught.value.status_code == 400
