from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.support.pages import links, table_rows
from tests.support.reports import group, member, report
from tests.support.service import sign_in
from tests.support.waiting import until
from tracehouse.cli.serve.page.history import alert_marks, merge_marks
from tracehouse.queries.drawing.line_chart import Mark

HISTORY = "/explore/build_history"
EVENT = "native_call_convolution.out"


def test_each_model_on_each_device_has_its_newest_median(site: TestClient) -> None:
    rows = table_rows(site.get(HISTORY).text)
    assert {row[0]: row[1] for row in rows} == {"phone": "b11", "tablet": "b10"}


def test_lines_are_drawn_over_all_builds_in_their_order(site: TestClient) -> None:
    text = site.get(HISTORY, params={"device": "phone"}).text
    points = re.findall(r'<g class="at" data-name="(b\d+)">', text)
    assert points == [f"b{number}" for number in range(12)]
    assert "Execute over 12 builds" in text


def test_an_operator_has_a_row_for_each_build_newest_first(site: TestClient) -> None:
    text = site.get(HISTORY, params={"event": EVENT, "device": "phone"}).text
    assert "<h1>convolution #1, build by build</h1>" in text
    rows = table_rows(text)
    assert [row[0] for row in rows] == [f"b{number}" for number in range(11, -1, -1)]
    (night,) = (row for row in rows if row[0] == "b9")
    assert 13 < float(re.findall(r"\+([\d.]+) %", night[2])[0]) < 17


def test_series_are_sorted_by_their_newest_change_the_largest_first(site: TestClient) -> None:
    builds = {"build": ["b8", "b9", "b10"]}
    first, other = (
        table_rows(site.get(HISTORY, params=builds | more).text)
        for more in ({}, {"sort": "change"})
    )
    assert [row[0] for row in first] == [row[0] for row in other][::-1]


def test_many_series_have_a_sparkline_each_and_no_chart(wide_site: TestClient) -> None:
    text = wide_site.get(HISTORY).text
    assert 'class="trend"' not in text
    assert text.count('class="spark"') == len(table_rows(text)) == 24
    href = unescape(re.findall(r'<td><a href="([^"]+)"><svg[^>]*class="spark"', text)[0])
    assert "Execute over 3 builds" in wide_site.get(href).text


def test_only_the_newest_of_many_builds_are_shown(
    site: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracehouse.cli.serve.page.history.MOST_BUILDS", 4)
    text = site.get(f"{HISTORY}?device=phone").text
    assert [row[0] for row in table_rows(text)] == ["b11", "b10", "b9", "b8"]
    assert "4 of 12 builds: filter by build to see others." in text
    around = table_rows(site.get(f"{HISTORY}?device=phone&at=b3").text)
    assert [row[0] for row in around] == ["b4", "b3", "b2", "b1"]


MARKS = re.compile(r'<li class="bad"><b aria-hidden="true"></b><a href="([^"]+)">([^<]+)</a>')


def _row(**changes: Any) -> dict[str, Any]:
    series = member()
    names = ("device", "pool", "model", "backend", "run", "event_name", "delegate_id", "ordinal")
    return {name: getattr(series, name) for name in names} | changes


def test_an_alert_marks_where_it_begins_and_where_it_is_fixed() -> None:
    found = alert_marks(report(group(state="fixed", fixed_in="b41")), [_row()], has_links=True)
    operator, href = "convolution #3", "/regressions?head=b42#g-5f1c9a2e"
    assert found == [[
        Mark("b40", f"{operator} +6.2 %, fixed", "bad", href),
        Mark("b41", f"{operator} is fixed", "good", href),
    ]]  # fmt: skip


def test_an_alert_marks_its_own_series_only() -> None:
    others = [_row(device="s24"), _row(ordinal=4), _row(backend=None), _row()]
    found = alert_marks(report(group()), others, has_links=True)
    assert [len(marks) for marks in found] == [0, 0, 0, 1]


def test_an_alert_of_a_pool_marks_its_devices() -> None:
    pooled = report(group(member(device=None)))
    found = alert_marks(pooled, [_row(device="s24"), _row(pool="lab")], has_links=True)
    assert [len(marks) for marks in found] == [1, 0]


def test_a_method_is_marked_that_moved_with_its_operators() -> None:
    method = member(event_name="Method::execute", ordinal=1, delta=0.02)
    row = _row(event_name="Method::execute", ordinal=1)
    ((mark,),) = alert_marks(report(group(explains=[method])), [row], has_links=True)
    assert mark.text == "Execute +2.0 %, confirmed"


def test_an_improvement_is_good() -> None:
    ((mark,),) = alert_marks(report(group(member(delta=-0.1))), [_row()], has_links=False)
    assert (mark.kind, mark.href) == ("good", "")


def test_an_alert_of_several_series_has_one_mark_in_their_chart() -> None:
    both = report(group(member(), member(device="s24")))
    marks = alert_marks(both, [_row(), _row(device="s24")], has_links=True)
    assert merge_marks(marks) == marks[0]


def test_charts_have_the_marks_of_the_last_night_whose_links_lead_to_the_alert(
    site: TestClient,
) -> None:
    assert not MARKS.search(site.get(f"{HISTORY}?event={EVENT}").text)  # no night is judged yet
    report = site.get("/regressions").text
    until(lambda: bool(MARKS.search(site.get(f"{HISTORY}?event={EVENT}").text)))
    text = site.get(f"{HISTORY}?event={EVENT}").text
    ((href, said),) = MARKS.findall(text)
    assert re.fullmatch(r"b9: convolution #1 \+1[45]\.\d %, confirmed", said)
    address, _, anchor = unescape(href).partition("#")
    assert site.get(address).status_code == 200
    assert f'id="{anchor}"' in report
    assert "confirmed in b9" in text  # by sparklines, too


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
    page = client.get(HISTORY, params={"event": EVENT, "device": "phone"}).text
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
    assert (answer.status_code, answer.headers["location"]) == (
        303,
        f"{HISTORY}?{place}&at=b4",
    )
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
    assert [row[3] for row in rows if row[0] == "b4" and row is not listed] == [f"b4: {TEXT}"]
    assert links(page)[f"b4: {TEXT}"] == note


def test_a_note_is_shown_only_with_its_point(
    service: tuple[TestClient, dict[str, str]], note: str
) -> None:
    client = sign_in(service, "reader")

    def shows(path: str, **params: str) -> bool:
        return f'href="{note}"' in client.get(path, params=params).text

    assert not shows(HISTORY, event=EVENT, device="tablet")
    assert not shows(HISTORY, event="native_call_relu.out", device="phone")
    assert not shows(HISTORY, device="phone")
    whole = write(
        sign_in(service, "lead"), series="device=phone&model=net", build="b4", text="driver"
    )
    client = sign_in(service, "reader")
    assert client.get(whole, follow_redirects=False).headers["location"] == (
        f"{HISTORY}?event=Method%3A%3Aexecute&device=phone&model=net&at=b4"
    )
    for path, params in (
        (HISTORY, {}),
        (HISTORY, {"event": EVENT}),
    ):
        assert f'href="{whole}"' in client.get(path, params={**params, "device": "phone"}).text
    wrong = client.get(HISTORY, params={"at": "b99"})
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
