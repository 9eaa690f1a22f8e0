"""Where the time of a build goes."""

from __future__ import annotations

import re

import pytest
from starlette.testclient import TestClient

from tests.support.pages import table_rows


def test_the_newest_build_is_taken_without_any(site: TestClient) -> None:
    text = site.get("/operators").text
    assert re.findall(r"<h2>(.*?)</h2>", text) == ["phone · net, b11"]
    assert "native_call_sigmoid.out" in text


def test_the_newest_build_is_that_of_the_device(site: TestClient) -> None:
    text = site.get("/operators", params={"device": "tablet"}).text
    assert re.findall(r"<h2>(.*?)</h2>", text) == ["tablet · net, b10"]


def test_shares_are_of_the_whole_and_the_largest_comes_first(site: TestClient) -> None:
    text = site.get("/operators", params={"device": "tablet"}).text
    shares = [float(share) for share in re.findall(r">([\d.]+)%<", text)]
    assert abs(sum(shares) - 100) < 0.5
    assert shares == sorted(shares, reverse=True)
    assert text.index("native_call_convolution.out") < text.index("native_call_relu.out")


def test_many_devices_are_taken_together(site: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracehouse.cli.serve.page.operators.MOST_DEVICES", 1)
    text = site.get("/operators?build=b9").text
    assert re.findall(r"<h2>(.*?)</h2>", text) == ["net, b9"]
    assert "Each table takes 2 devices together: filter by device, at most 1 at a time" in text
    alone = site.get("/operators?build=b9&device=phone").text
    assert re.findall(r"<h2>(.*?)</h2>", alone) == ["phone · net, b9"]
    (both,), (one,) = ([row[4] for row in table_rows(page)][:1] for page in (text, alone))
    assert int(both.replace(",", "")) == 2 * int(one.replace(",", ""))


def test_tables_have_pages(site: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracehouse.cli.serve.page.operators.TABLES", 3)
    text = site.get("/operators?device=phone&build=b1*&build=b0&build=b9&page=2").text
    assert re.findall(r"<h2>(.*?)</h2>", text) == ["phone · net, b1", "phone · net, b0"]
    assert "4 to 5 of 5" in text
