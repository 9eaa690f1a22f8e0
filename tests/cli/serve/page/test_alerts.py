from __future__ import annotations

import re
from html import unescape
from xml.etree.ElementTree import fromstring

import pytest
from starlette.testclient import TestClient

from tests.support.service import service_of, sign_in
from tests.support.waiting import until


@pytest.mark.slow
def test_the_report_is_that_of_the_last_build(site: TestClient) -> None:
    text = site.get("/regressions").text
    assert "<title>Regressions: b11 · tracehouse</title>" in text
    assert "native_call_convolution.out" in text
    assert 'href="/v1/report?head=b11"' in text


@pytest.mark.slow
def test_a_head_of_the_address_is_reported(site: TestClient) -> None:
    text = site.get("/regressions", params={"head": "b8"}).text
    assert "<h1>Nothing got slower.</h1>" in text
    assert '<a href="/regressions?head=b8" aria-current="true">b8</a>' in text


@pytest.mark.slow
def test_the_base_in_the_address_is_compared_with_the_head(site: TestClient) -> None:
    text = site.get("/regressions", params={"base": "b8", "head": "b9"}).text
    assert "<title>Regressions: b9 against b8 · tracehouse</title>" in text
    assert "<h1>2 operators are slower.</h1>" in text
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
def test_an_address_that_names_no_report_is_refused(
    site: TestClient, params: dict[str, str], words: str
) -> None:
    answer = site.get("/regressions", params=params)
    assert answer.status_code == 400
    assert words in answer.text


def test_an_unknown_head_is_refused(site: TestClient) -> None:
    answer = site.get("/regressions", params={"head": "b99"})
    assert answer.status_code == 400
    assert "b99" in answer.text


def test_each_alert_leads_to_its_explanation(site: TestClient) -> None:
    links = re.findall(r'href="(/explain\?[^"]+)"', site.get("/regressions?head=b11").text)
    assert len(links) >= 3
    text = site.get(unescape(links[0])).text
    assert "native_call_convolution.out" in text
    assert 'href="/regressions?head=b11"' in text
    assert re.search(r'href="/v1/explain\?group=\w+&amp;head=b11&amp;format=html"', text)
    assert '<h2 id="changes">What changed' in text
    assert "Time by module of forward, phone · net" in text
    assert '<h2 id="since">Since when' in text
    assert 'class="strip"' in text
    assert 'class="history"' in text


def test_explain_without_a_group_says_that_it_needs_one(site: TestClient) -> None:
    answer = site.get("/explain")
    assert answer.status_code == 400
    assert "group=ID" in answer.text


def test_an_unknown_alert_is_refused(site: TestClient) -> None:
    answer = site.get("/explain", params={"group": "abc"})
    assert answer.status_code == 400
    assert "abc" in answer.text


_DECISIONS = "SELECT state, reason, decided_by FROM group_decisions ORDER BY decided_at"


def decisions(client: TestClient) -> list[tuple[str, ...]]:
    with service_of(client).reader() as reader:
        return [tuple(row.values()) for row in reader.sql(_DECISIONS).to_pylist()]


@pytest.mark.slow
def test_a_lead_decides_about_a_group_on_the_report_page(
    service: tuple[TestClient, dict[str, str]],
) -> None:
    client = sign_in(service, "lead")
    page = client.get("/regressions").text
    assert page.count('<form class="triage" method="post" action="/regressions">') > 0
    group = re.findall(r'name="group" value="(\w+)"', page)[0]
    assert 'value="reopened"' not in page.partition(f'value="{group}"')[2].partition("</form>")[0]
    form = {"group": group, "head": "b11", "reason": "known", "state": "acknowledged"}
    site = {"origin": "http://127.0.0.1"}
    answer = client.post("/regressions", data=form, headers=site, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/regressions?head=b11")
    assert decisions(client) == [("acknowledged", "known", "lead")]
    shown = client.get("/regressions?head=b11").text
    card = shown.partition(f'value="{group}"')[2].partition("</form>")[0]
    assert 'value="accepted"' in card
    assert 'value="acknowledged"' not in card
    assert 'value="reopened"' in card
    wrong = client.post("/regressions", data={**form, "group": "none"}, headers=site)
    assert (wrong.status_code, "has no group" in wrong.text) == (400, True)
    bare = client.post("/regressions", data={**form, "reason": " "}, headers=site)
    assert (bare.status_code, "Wanted a reason" in bare.text) == (400, True)
    assert len(decisions(client)) == 1


def test_other_sites_and_unauthorised_tokens_cannot_decide_alerts(
    service: tuple[TestClient, dict[str, str]],
) -> None:
    form = {"group": "g", "reason": "r", "state": "accepted"}
    client, before = service[0], decisions(service[0])
    client.cookies.clear()
    strange = client.post("/regressions", data=form, follow_redirects=False)
    assert (strange.status_code, strange.headers["location"]) == (303, "/login?next=%2Fregressions")
    sign_in(service, "lead")
    for headers in ({"origin": "http://evil"}, {"sec-fetch-site": "cross-site"}, {}):
        assert client.post("/regressions", data=form, headers=headers).status_code == 403
    sign_in(service, "reader")
    site = {"origin": "http://127.0.0.1"}
    refused = client.post("/regressions", data=form, headers=site)
    assert (refused.status_code, "no scope triage or upkeep" in refused.text) == (403, True)
    assert decisions(client) == before


@pytest.mark.slow
def test_readers_see_no_triage_form(service: tuple[TestClient, dict[str, str]]) -> None:
    assert 'class="triage"' not in sign_in(service, "reader").get("/regressions").text


ATOM = "{http://www.w3.org/2005/Atom}"


def test_judged_nights_are_entries_of_the_feed(site: TestClient) -> None:
    site.get("/regressions", params={"head": "b9"})
    site.get("/regressions", params={"head": "b8"})
    until(lambda: "b8: " in site.get("/nights.atom").text)
    answer = site.get("/nights.atom")
    assert answer.headers["content-type"] == "application/atom+xml"
    feed = fromstring(answer.text)  # noqa: S314 - ours
    entries = {entry.findtext(f"{ATOM}title") or "": entry for entry in feed.iter(f"{ATOM}entry")}
    first, second = (title for title in entries if title.startswith(("b8: ", "b9: ")))
    assert first.startswith("b9: 1 slowdown is new and not confirmed yet")
    assert second.startswith("b8: Nothing got slower")
    entry = entries[first]
    assert entry.find(f"{ATOM}link").get("href") == "/regressions?head=b9"  # type: ignore[union-attr]
    assert str(entry.findtext(f"{ATOM}summary")) in first
    assert feed.findtext(f"{ATOM}updated") == next(feed.iter(f"{ATOM}entry")).findtext(
        f"{ATOM}updated"
    )
    assert 'href="/nights.atom"' in site.get("/dumps").text
