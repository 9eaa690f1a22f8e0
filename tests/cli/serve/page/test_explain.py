"""The explanation of an alert inside the site."""

from __future__ import annotations

import re
from html import unescape

from starlette.testclient import TestClient


def test_each_alert_leads_to_its_explanation(site: TestClient) -> None:
    links = re.findall(r'href="(/explain\?[^"]+)"', site.get("/regressions?head=b11").text)
    assert len(links) >= 3
    text = site.get(unescape(links[0])).text
    assert "native_call_convolution.out" in text
    assert 'href="/regressions?head=b11"' in text
    assert re.search(r'href="/v1/explain\?group=\w+&amp;head=b11&amp;format=html"', text)
    assert 'class="flame"' in text


def test_an_address_without_an_alert_says_what_it_wants(site: TestClient) -> None:
    answer = site.get("/explain")
    assert answer.status_code == 400
    assert "group=ID" in answer.text


def test_an_unknown_alert_is_said(site: TestClient) -> None:
    answer = site.get("/explain", params={"group": "abc"})
    assert answer.status_code == 400
    assert "abc" in answer.text
