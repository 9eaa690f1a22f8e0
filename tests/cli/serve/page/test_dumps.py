"""The newest dumps, and one of them."""

from __future__ import annotations

import re

import pytest
from starlette.testclient import TestClient

from tests.support.pages import shown, table_rows


@pytest.fixture(scope="module")
def address(site: TestClient) -> str:
    """The page of the newest dump."""
    found = re.search(r'href="(/dumps/[0-9a-f]{64})"', site.get("/dumps").text)
    assert found
    return found[1]


def test_the_newest_dumps_come_first(site: TestClient) -> None:
    text = shown(site.get("/dumps").text)
    builds = re.findall(r">(b\d\d?)</a>", text)
    assert builds[0] == "b11"
    assert builds == sorted(builds, key=lambda build: -int(build[1:]))


@pytest.mark.parametrize("device", ["tablet", "t*", "[t]ablet"])
def test_names_and_globs_choose(site: TestClient, device: str) -> None:
    text = shown(site.get("/dumps", params={"device": device, "build": "b9"}).text)
    assert set(re.findall(r">([a-z]+) · net<", text)) == {"tablet"}
    assert set(re.findall(r">(b\d\d?)</a>", text)) == {"b9"}


def test_a_dump_shows_its_median_run_and_its_facts(site: TestClient, address: str) -> None:
    text = site.get(address).text
    assert re.search(r"Run \d+ of 25 runs", text)
    assert "Timeline of 6 events" in text
    assert "<dt>sha256</dt>" in text
    assert text.index(">Execute<") < text.index(">convolution #1<")


def test_runs_are_walked_through(site: TestClient, address: str) -> None:
    first = site.get(address, params={"run": "0"}).text
    assert "Run 0 of 25 runs" in first
    assert "Previous run" not in first
    assert f'href="{address}?run=1"' in first
    assert "Next run" not in site.get(address, params={"run": "24"}).text


def test_a_dump_page_takes_the_dump_id(site: TestClient) -> None:
    sha256 = site.get("/v1/queries/dumps?format=json").json()[0]["sha256"]
    assert f"<dd>{sha256}</dd>" in site.get("/dumps/1").text
    assert site.get("/dumps/100000").status_code == 404


def test_the_beginning_of_a_hash_is_enough(site: TestClient, address: str) -> None:
    assert address[7:] in site.get(address[:20]).text


@pytest.mark.parametrize("name", ["zz", "0" * 64, "%25"])
def test_an_unknown_dump_is_not_found(site: TestClient, name: str) -> None:
    answer = site.get(f"/dumps/{name}")
    assert answer.status_code == 404
    assert "SHA-256" in answer.text


def test_pages_lead_to_the_oldest_dump(site: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracehouse.cli.serve.page.dumps.ROWS", 50)
    text = site.get("/dumps?device=tablet").text
    assert "1 to 50 of 88" in text
    last = site.get("/dumps?device=tablet&page=2").text
    assert [len(table_rows(one)) for one in (text, last)] == [50, 38]
    assert table_rows(last)[-1][1] == "b0"
    assert "51 to 88 of 88" in last


def test_events_have_pages(site: TestClient, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracehouse.cli.serve.page.answer_table.ROWS", 4)
    first, last = (site.get(f"{address}?run=3&page={page}").text for page in "12")
    assert [len(table_rows(text)) for text in (first, last)] == [4, 2]
    assert f'href="{address}?run=3&amp;page=2">Next<' in first
