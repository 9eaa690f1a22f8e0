"""Decisions about alerts on the page of the nightly report."""

from __future__ import annotations

import re

import pytest
from starlette.testclient import TestClient

from tests.support.service import service_of, sign_in

_DECISIONS = "SELECT state, reason, decided_by FROM group_decisions ORDER BY decided_at"


def decisions(client: TestClient) -> list[tuple[str, ...]]:
    with service_of(client).reader() as reader:
        return [tuple(row.values()) for row in reader.sql(_DECISIONS).to_pylist()]


@pytest.mark.slow
def test_a_lead_decides_about_a_group_where_the_report_shows_it(
    service: tuple[TestClient, dict[str, str]],
) -> None:
    client = sign_in(service, "lead")
    page = client.get("/regressions").text
    assert page.count('<form class="triage" method="post" action="/regressions">') > 0
    group = re.findall(r'name="group" value="(\w+)"', page)[0]
    form = {"group": group, "head": "b11", "reason": "known", "state": "acknowledged"}
    site = {"origin": "http://127.0.0.1"}
    answer = client.post("/regressions", data=form, headers=site, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/regressions?head=b11")
    assert decisions(client) == [("acknowledged", "known", "lead")]
    shown = client.get("/regressions?head=b11").text
    card = shown.partition(f'value="{group}"')[2].partition("</form>")[0]
    assert 'value="accepted"' in card
    assert 'value="acknowledged"' not in card
    wrong = client.post("/regressions", data={**form, "group": "none"}, headers=site)
    assert (wrong.status_code, "has no group" in wrong.text) == (400, True)
    bare = client.post("/regressions", data={**form, "reason": " "}, headers=site)
    assert (bare.status_code, "wanted a reason" in bare.text) == (400, True)
    assert len(decisions(client)) == 1


def test_other_sites_and_other_tokens_decide_nothing(
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
def test_readers_see_no_form(service: tuple[TestClient, dict[str, str]]) -> None:
    assert 'class="triage"' not in sign_in(service, "reader").get("/regressions").text
