from __future__ import annotations

import re

from tests.support.changes import change_row, changes_html
from tests.support.reports import group, member, read_xml
from tracehouse.queries.comparison import comparison_html, describe_pair
from tracehouse.queries.report.change import Kind, change_of_row
from tracehouse.queries.report.html import draw_axis, draw_icon, draw_interval
from tracehouse.queries.report.plots import spark_plot
from tracehouse.queries.report.tables import ChangeTable, IntervalScale

HOSTILE = '"><script>x</script>'


def test_a_row_has_the_tone_of_its_verdict_and_no_style_attribute() -> None:
    table = ChangeTable.of(map(change_of_row, (change_row(), change_row("inconclusive"))))
    page = str(changes_html(table))
    assert '<tr class="slower">' in page
    assert '<tr class="unsure">' in page
    assert "style=" not in page
    assert "1 more: 1 cannot tell" in page


def test_names_are_text() -> None:
    row = change_row(event_name=HOSTILE, device=HOSTILE, model=HOSTILE)
    found = describe_pair([row], base=HOSTILE, head=HOSTILE)
    page = comparison_html(found, base=HOSTILE, head=HOSTILE)
    assert "<script>" not in page
    assert "style-src" in page


def test_an_interval_is_places_in_percent_and_a_name_for_screen_readers() -> None:
    change = change_of_row(change_row(minimum_detectable=0.02))
    scale = ChangeTable.of([change]).scale
    drawn = read_xml(str(draw_interval(change, scale, has_ticks=True)))
    assert drawn.get("aria-label") == "+5.0 %, between +4.0 % to +7.0 %"
    classes = [one.get("class") for one in drawn]
    assert classes[:4] == ["zone", "zero", "span", "dot"]
    assert all(one.get("cx", "0%").endswith("%") for one in drawn)
    assert [text.text for text in drawn.iter("text")][-1].endswith(" %")
    assert 'aria-hidden="true"' in str(draw_axis(scale))


def test_an_interval_beyond_the_scale_ends_in_an_arrow() -> None:
    scale = ChangeTable.of([change_of_row(change_row())]).scale
    wild = change_of_row(change_row("inconclusive", delta=5.0, delta_low=-5.0, delta_high=9.0))
    assert str(draw_interval(wild, scale)).count('class="tip"') == 2


def test_axis_labels_do_not_overlap() -> None:
    places = [-1.0, -0.5, 0.0, 0.01, 0.02]
    drawn = read_xml(str(draw_axis(IntervalScale(-1.0, 0.02, places))))
    assert [text.text for text in drawn.iter("text")] == ["−100", "−50", "2 %"]


def test_many_changes_are_folded_and_those_of_a_huge_list_counted() -> None:
    rows = [change_row(event_name=f"native_call_op{i}.out") for i in range(230)]
    page = str(changes_html(ChangeTable.of(map(change_of_row, rows))))
    shown, _, folded = page.partition("<summary>210 cheaper changes</summary>")
    assert (shown.count("<tr class="), folded.count("<tr class=")) == (20, 180)
    assert "30 more are not shown" in folded


def test_only_verdicts_to_look_at_have_an_icon() -> None:
    assert all(bool(draw_icon(kind)) == kind.is_change for kind in Kind)


def test_a_history_is_washed_since_the_change() -> None:
    one = group(member())
    assert 'class="since"' in spark_plot(one.members[0], one.first_bad)
    assert 'class="since"' not in spark_plot(one.members[0], "elsewhere")
    assert spark_plot(member(history=[]), "b1") == ""
    assert re.search(r"the last \d+ builds", (spark_plot(one.members[0], "b40")))
