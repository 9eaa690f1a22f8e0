"""The nightly report inside the site."""

from __future__ import annotations

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


def test_an_unknown_head_is_said(site: TestClient) -> None:
    answer = site.get("/regressions", params={"head": "b99"})
    assert answer.status_code == 400
    assert "b99" in answer.text
