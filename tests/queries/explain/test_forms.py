from __future__ import annotations

import json
import re

import pytest

from tests.support.explained import explanation, frame, programs, run_times
from tests.support.strange_names import NAMES
from tracehouse.queries.explain.content import Explanation, Fact, Origin
from tracehouse.queries.explain.document import list_differences, list_modules, origin_text
from tracehouse.queries.explain.forms import MEDIA_TYPES, SUFFIXES, render
from tracehouse.queries.report.markdown import MAX_BYTES


@pytest.mark.parametrize("form", MEDIA_TYPES)
def test_every_form_ends_with_a_line_end_and_is_always_the_same(form, explained):
    text = render(explained, form)
    assert text.endswith("\n")
    assert render(explained, form) == text


def test_json_reads_back_as_the_explanation(explained):
    text = render(explained, "json")
    assert Explanation.model_validate_json(text) == explained
    assert json.loads(text)["group"]["first_bad"] == "b7"


def test_every_suffix_has_a_form():
    assert set(SUFFIXES.values()) == set(MEDIA_TYPES)


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_each_explanation_format_has_all_parts(form):
    text = render(explanation(), form)
    for part in ("The programs differ.", "tracehouse compare b1 b2", "layer", "1.400 µs"):
        assert part in text


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_each_form_has_the_changes_of_the_alert_as_the_judge_found_them(form):
    made = explanation()
    text = render(made, form)
    for member in made.group.members:
        assert member.event_name in text
    assert "slower" in text


# The page


def test_the_page_loads_and_runs_nothing(explained):
    text = render(explained, "html")
    assert "default-src 'none'; style-src 'unsafe-inline'" in text
    assert re.findall(r"<script|\bsrc=|\bhref=\"(?!#)|url\(|@import|style=\"", text) == []


def test_names_are_text_everywhere_in_the_page():
    for name in NAMES:
        (change,) = explanation().programs[0].changes
        named = change.model_copy(update=dict.fromkeys(("name", "base", "head"), name))
        made = explanation(
            findings=[name], commands=[name], programs=[programs(named)],
            times=[run_times(frame(name, 900.0, 1400.0))],
        )  # fmt: skip
        text = render(made, "html")
        assert "<script" not in text
        assert "<img" not in text


def test_differences_have_a_heading_only_if_there_are_any():
    assert '<h2 id="differences">' in render(explanation(), "html")
    bare = explanation(programs=[])
    assert '<h2 id="differences">' not in render(bare, "html")


# Markdown


def test_findings_are_listed_and_tables_folded():
    text = render(explanation(), "markdown")
    assert text.startswith("## ▲ ")
    assert "\n- The programs differ.\n" in text
    assert "\n- `tracehouse compare b1 b2`\n" in text
    assert text.count("<details>") == text.count("</details>") == 3
    assert "| \u2003&#42; conv | 900 ns | 1.400 µs | +500 ns | +55.6 % |" in text


def test_names_are_no_markup():
    times = run_times(frame("*a* | @b", 500.0, 700.0))
    text = render(explanation(times=[times], findings=["see #1"]), "markdown")
    assert "*a*" not in text
    assert "see <code>#</code>1" in text


def test_a_comment_is_never_too_long():
    (change,) = explanation().programs[0].changes
    many = [programs(*[change.model_copy(update={"name": "x" * 900})] * 40)] * 9
    text = render(explanation(programs=many), "markdown")
    assert len(text.encode()) <= MAX_BYTES
    assert "Cut here" in text


# Text


def test_the_parts_of_a_run_are_aligned_and_indented():
    layer = frame("layer (Linear)", 600.0, 1080.0, frame("mm #1", 600.0, 1080.0, is_member=True))
    lines = render(explanation(times=[run_times(layer)]), "text").splitlines()
    first = lines.index("Time by module of Execute, phone · net · xnnpack")
    assert lines[first + 1 : first + 5] == [
        "  Part                  Base      Head   Change  Relative change",
        "  Execute           1.000 µs  1.500 µs  +500 ns          +50.0 %",
        "    layer (Linear)    600 ns  1.080 µs  +480 ns          +80.0 %",
        "      * mm #1         600 ns  1.080 µs  +480 ns          +80.0 %",
    ]


def test_long_cells_go_on_in_the_next_line():
    (change,) = explanation().programs[0].changes
    long = change.model_copy(update={"change": "added", "base": None, "head": "word " * 30})
    text = render(explanation(programs=[programs(long)]), "text")
    assert max(map(len, text.splitlines())) < 160
    assert text.count("word") == 30


def test_rows_and_places_that_are_not_shown_are_counted():
    (change,) = explanation().programs[0].changes
    text = render(explanation(programs=[programs(*[change] * 50)], place_count=7), "text")
    assert "  and 10 more rows" in text
    assert "6 more places: the costliest device of each model is shown" in text


def test_names_cannot_write_to_the_terminal():
    times = run_times(frame("\x1b[31mred", 500.0, 700.0))
    assert "\x1b" not in render(explanation(times=[times], findings=["\x1b[2J"]), "text")


# The tables


def _parts(*frames):
    return [row[0].strip() for row in list_modules(run_times(*frames)).rows]


def test_short_parts_are_left_out_unless_the_alert_names_them():
    short, member = frame("short", 1.0, 1.0), frame("member", 1.0, 2.0, is_member=True)
    parts = _parts(frame("long", 900.0, 1400.0), short, member)
    assert parts == ["Execute", "long", "* member"]


def test_a_short_module_with_an_operator_of_the_alert_is_shown():
    layer = frame("layer", 1.0, 1.0, frame("member", 1.0, 1.0, is_member=True))
    assert _parts(layer) == ["Execute", "layer", "* member"]


def test_a_part_of_one_build_says_so():
    rows = list_modules(run_times(frame("x", None, 500.0), frame("y", 500.0, None))).rows
    assert rows[1:] == [
        ("  x", "–", "500 ns", "+500 ns", "only head"),
        ("  y", "500 ns", "–", "−500 ns", "only base"),
    ]


def test_irregular_runs_have_a_cost_alone():
    rows = list_modules(run_times(frame("irregular runs", None, None, change=-80.0))).rows
    assert rows[1][1:] == ("–", "–", "−80 ns", "–")


def test_an_origin_names_at_most_three_calls():
    found = Origin(where="Xnnpack", nodes=list("abcde"), is_whole_call=True, modules=[], sources=[])
    assert origin_text(found) == "a call of a; b; c and 2 more in Xnnpack"
    assert origin_text(None) == "–"


def test_each_part_is_a_table_of_cells_for_its_columns(explained):
    for made in (explained, explanation()):
        for table in list_differences(made):
            assert {len(row) for row in table.rows} == {len(table.columns)}


def test_only_what_differs_around_the_code_is_listed():
    def fact(name: str, head: str) -> Fact:
        return Fact(where="lab · net", subject="environment", name=name, base="1", head=head,
                    is_changed=head != "1")  # fmt: skip

    facts = [fact("os", "1"), fact("threads", "8")]
    found = {table.title: table for table in list_differences(explanation(facts=facts))}
    rows = found["Around the code"].rows
    assert rows == [("lab · net", "environment", "threads", "1", "8")]
