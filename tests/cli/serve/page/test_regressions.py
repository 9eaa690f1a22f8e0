"""The nightly report inside the site."""

from __future__ import annotations

import re

import pytest
from starlette.testclient import TestClient


@pytest.mark.slow
def test_the_report_is_that_of_the_last_build(site: TestClient) -> None:
    text = site.get("/regressions").text
    assert "<title>Regressions: b11 · tracehouse</title>" in text
    assert "native_call_convolution.out" in text
    assert 'href="/v1/report?head=b11"' in text


@pytest.mark.slow
def test_a_head_of_the_address_is_reported(site: TestClient) -> None:
    text = site.get("/regressions", params={"head": "b8"}).text
    assert "No regression is confirmed." in text
    assert '<a href="/regressions?head=b8" aria-current="true">b8</a>' in text


@pytest.mark.slow
def test_a_base_of_the_address_is_compared_with_the_head(site: TestClient) -> None:
    text = site.get("/regressions", params={"base": "b8", "head": "b9"}).text
    assert "<title>Regressions: b9 against b8 · tracehouse</title>" in text
    assert re.search(r"b9 against b8: \d+ methods? slower; \d+ slower of \d+ operators; ", text)
    assert 'href="/v1/report?head=b9&amp;base=b8"' in text
    assert '<a href="/regressions?head=b7&amp;base=b8">b7</a>' in text
    last = site.get("/regressions", params={"base": "b8"}).text
    assert "<title>Regressions: b11 against b8 · tracehouse</title>" in last


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"base": "b99"}, "b99"),
        ({"head": "b9", "base": "b9"}, "which is the value of"),
        ({"head": "b9", "branch": "main"}, "name either a head or a branch"),
        ({"branch": "mian"}, "no build in the store is of the branch"),
        ({"device": "phone"}, "o such parameter"),
    ],
)
def test_what_names_no_report_is_said(site: TestClient, params: dict[str, str], words: str) -> None:
    answer = site.get("/regressions", params=params)
    assert answer.status_code == 400
    assert words in answer.text


def test_an_unknown_head_is_said(site: TestClient) -> None:
    answer = site.get("/regressions", params={"head": "b99"})
    assert answer.status_code == 400
    assert "b99" in answer.text
