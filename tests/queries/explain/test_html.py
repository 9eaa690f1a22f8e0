from __future__ import annotations

import re

from tests.support.explained import explanation, frame, programs, run_times
from tests.support.strange_names import NAMES
from tracehouse.queries.explain.html import html_text


def test_the_page_loads_and_runs_nothing(explained):
    text = html_text(explained)
    assert "default-src 'none'; style-src 'unsafe-inline'" in text
    assert re.findall(r"<script|\bsrc=|\bhref=\"(?!#)|url\(|@import|style=\"", text) == []


def test_the_tree_is_unfolded_where_the_run_changed():
    layer = frame("layer", 300.0, 790.0, frame("mm", 300.0, 790.0))
    steady = frame("rest", 600.0, 600.0, frame("add", 600.0, 600.0))
    text = html_text(explanation(times=[run_times(layer, steady)]))
    opened = re.findall(r'<details( open)?><summary class="(\w+)">', text)
    assert opened == [(" open", "slower"), (" open", "slower"), ("", "steady")]


def test_parts_of_one_build_have_a_colour_of_their_own():
    parts = [frame("old", 500.0, None), frame("fresh", None, 700.0, is_member=True)]
    text = html_text(explanation(times=[run_times(*parts)]))
    assert 'class="leaf gone"' in text
    assert 'class="leaf new member"' in text


def test_what_is_too_short_is_counted():
    text = html_text(explanation(times=[run_times(frame("a", 1.0, 1.0), frame("b", 1.0, 1.0))]))
    assert "2 shorter parts: in the JSON form" in text


def test_names_are_text_everywhere():
    for name in NAMES:
        (change,) = explanation().programs[0].changes
        named = change.model_copy(update=dict.fromkeys(("name", "base", "head"), name))
        made = explanation(
            findings=[name], commands=[name], programs=[programs(named)],
            times=[run_times(frame(name, 900.0, 1400.0))],
        )  # fmt: skip
        text = html_text(made)
        assert "<script" not in text
        assert "<img" not in text


def test_differences_have_a_heading_only_if_there_are_any():
    assert '<h2 id="differences">' in html_text(explanation())
    bare = explanation(programs=[])
    assert '<h2 id="differences">' not in html_text(bare)
