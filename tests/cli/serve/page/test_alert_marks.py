from __future__ import annotations

import re
from html import unescape
from typing import Any

from starlette.testclient import TestClient

from tests.support.reports import group, member, report
from tests.support.waiting import until
from tracehouse.cli.serve.page.alert_marks import alert_marks, merge_marks
from tracehouse.queries.report.line_chart import Mark

PATH = "/history?event=native_call_convolution.out"
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
    assert not MARKS.search(site.get(PATH).text)  # no night is judged yet
    report = site.get("/regressions").text
    until(lambda: bool(MARKS.search(site.get(PATH).text)))
    text = site.get(PATH).text
    ((href, said),) = MARKS.findall(text)
    assert re.fullmatch(r"b9: convolution #1 \+1[45]\.\d %, confirmed", said)
    address, _, anchor = unescape(href).partition("#")
    assert site.get(address).status_code == 200
    assert f'id="{anchor}"' in report
    assert "confirmed in b9" in text  # by sparklines, too
