"""Notes on points: written on the page, and shown wherever the point is."""

from __future__ import annotations

import re
from html import unescape

import pytest
from starlette.testclient import TestClient

from tests.support.pages import links, table_rows
from tests.support.service import sign_in

EVENT = "native_call_convolution.out"
TEXT = "known: <b>see</b> PR 123"


def write(client: TestClient, **form: str) -> str:
    """The address of a new note."""
    site = {"origin": "http://127.0.0.1"}
    answer = client.post("/notes", data=form, headers=site, follow_redirects=False)
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


@pytest.fixture(scope="module")
def note(service: tuple[TestClient, dict[str, str]]) -> str:
    """The address of a note of the lead on an operator of the phone in b4."""
    client = sign_in(service, "lead")
    page = client.get("/history", params={"event": EVENT, "device": "phone"}).text
    (form,) = re.findall(r'<form class="triage note-form".*?</form>', page, re.DOTALL)
    hidden = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form)
    fields = {name: unescape(value) for name, value in hidden}
    assert fields["event"] == EVENT
    assert '<option selected value="b11">b11</option>' in form
    return write(client, **fields, build="b4", text=TEXT)


def test_a_permalink_opens_the_chart_with_the_point_marked(
    service: tuple[TestClient, dict[str, str]], note: str
) -> None:
    client = sign_in(service, "reader")
    answer = client.get(note, follow_redirects=False)
    place = f"event={EVENT}&device=phone&model=net"
    assert (answer.status_code, answer.headers["location"]) == (303, f"/history?{place}&at=b4")
    page = client.get(note).text
    assert '<g class="at here" data-name="b4">' in page
    assert "<line" in page
    assert 'class="mark note"' in page
    assert 'data-text="known: &lt;b&gt;see&lt;/b&gt; PR 123 (lead, ' in page
    assert "<b>see</b>" not in page
    assert 'class="triage note-form"' not in page
    rows = table_rows(page)
    (listed,) = [row for row in rows if row[:2] == ["b4", TEXT]]
    assert listed[2:4] == [f"phone · net · {EVENT}", "lead"]
    assert [row[-1] for row in rows if row[0] == "b4" and row is not listed] == [f"b4: {TEXT}"]
    assert links(page)[f"b4: {TEXT}"] == note


def test_a_note_is_where_its_point_is_and_nowhere_else(
    service: tuple[TestClient, dict[str, str]], note: str
) -> None:
    client = sign_in(service, "reader")

    def shows(path: str, **params: str) -> bool:
        return f'href="{note}"' in client.get(path, params=params).text

    assert not shows("/history", event=EVENT, device="tablet")
    assert not shows("/history", event="native_call_relu.out", device="phone")
    assert not shows("/history", device="phone")
    whole = write(
        sign_in(service, "lead"), series="device=phone&model=net", build="b4", text="driver"
    )
    client = sign_in(service, "reader")
    assert client.get(whole, follow_redirects=False).headers["location"] == (
        "/history?device=phone&model=net&at=b4"
    )
    for path, params in (("/history", {}), ("/history", {"event": EVENT})):
        assert f'href="{whole}"' in client.get(path, params={**params, "device": "phone"}).text
    wrong = client.get("/history", params={"at": "b99"})
    assert (wrong.status_code, "at=b99: no chosen build has this name" in wrong.text) == (400, True)
    assert client.get("/notes/none").status_code == 404


def test_a_note_needs_a_text_and_a_token_that_may_decide(
    service: tuple[TestClient, dict[str, str]],
) -> None:
    site = {"origin": "http://127.0.0.1"}
    client = sign_in(service, "reader")
    denied = client.post("/notes", data={"build": "b4", "text": "x"}, headers=site)
    assert (denied.status_code, "no scope triage or upkeep" in denied.text) == (403, True)
    client = sign_in(service, "lead")
    wrong = client.post("/notes", data={"build": "b4", "text": " "}, headers=site)
    assert (wrong.status_code, "wanted 1 to 500" in wrong.text) == (400, True)
    long = "\U0001f422" * 500
    assert client.get(write(client, build="b4", text=long)).text.count(long) > 0
