from __future__ import annotations

import re
from html import unescape
from xml.etree.ElementTree import fromstring

import pytest
from starlette.testclient import TestClient

from tests.support.pages import links, table_rows
from tracehouse.cli.serve.page.explore import SHORT, rail
from tracehouse.queries.questions import QUESTIONS
from tracehouse.warehouse.catalogue.queries import find_query, list_queries

HOTSPOTS = "/explore/operator_hotspots"
_CHIP = re.compile(r'<span class="f"><span>(.*?)</span><span><b>(.*?)</b></span><a href="(.*?)"')


def _chips(text: str) -> dict[str, tuple[str, str]]:
    """The filters that are set: value and the address without it."""
    return {name: (unescape(value), unescape(href)) for name, value, href in _CHIP.findall(text)}


def test_every_canned_query_is_a_question() -> None:
    assert sorted(name for group in QUESTIONS.values() for name in group) == sorted(list_queries())


@pytest.mark.parametrize(
    "name", [*("operator_hotspots", "build_history", "regression_deltas"),
             *(pytest.param(name, marks=[pytest.mark.slow]) for name in list_queries())],
)  # fmt: skip
def test_every_question_is_answered_or_asks_for_what_it_needs(site: TestClient, name: str) -> None:
    answer = site.get(f"/explore/{name}")
    assert answer.status_code == 200
    assert find_query(name).header.purpose in unescape(answer.text)
    assert 'class="card answer"' in answer.text or 'class="empty"' in answer.text


def test_explore_lists_all_question_groups(site: TestClient) -> None:
    text = site.get("/explore").text
    assert links(text)["Slowest operators"] == HOTSPOTS
    assert all(f"<h2>{group}</h2>" in text for group in QUESTIONS)


def test_only_filters_that_are_set_are_chips(site: TestClient) -> None:
    chips = _chips(site.get(f"{HOTSPOTS}?device=phone&top_n=3").text)
    assert {name: value for name, (value, _) in chips.items()} == {
        "build": "b11",  # the newest, which the address leaves out
        "device": "phone",
        "top n": "3",
    }
    assert chips["device"][1] == f"{HOTSPOTS}?top_n=3&build=b11"


def test_the_default_build_filter_can_be_removed(site: TestClient) -> None:
    _, href = _chips(site.get(HOTSPOTS).text)["build"]
    text = site.get(href).text
    assert "build" not in _chips(text)
    assert {"b0", "b11"} <= {cell for row in table_rows(text) for cell in row} | set(links(text))


def test_rows_have_units_short_names_and_lead_to_their_histories(site: TestClient) -> None:
    text = site.get(f"{HOTSPOTS}?device=phone").text
    row = next(row for row in table_rows(text) if row[0].startswith("convolution"))
    assert row[0] == "convolution #1"
    assert any(re.fullmatch(r"[\d.]+ (µs|ms|s)", cell) for cell in row)
    assert any(re.fullmatch(r"\d+\.\d %", cell) for cell in row)
    href = next(href for name, href in links(text).items() if name == "convolution <b>#1</b>"
                or name.startswith("convolution #1"))  # fmt: skip
    assert href.startswith("/explore/build_history?event=native_call_convolution.out&ordinal=1")
    assert site.get(href).status_code == 200
    assert 'title="native_call_convolution.out #1"' in text


def test_the_drawn_column_has_bars_and_constants_stand_above(site: TestClient) -> None:
    text = site.get(f"{HOTSPOTS}?device=phone").text
    assert 'class="bar"' in text
    assert "In all rows: " in text
    assert "model net" in text[text.index("In all rows: ") :][:200]
    assert "device phone" not in text[text.index("In all rows: ") :][:200]  # a chip says so


def test_rows_are_sorted_by_any_column_and_cut_into_pages(
    site: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracehouse.cli.serve.page.answer_table.ROWS", 2)
    ascending, descending = (
        table_rows(site.get(f"{HOTSPOTS}?device=phone&sort={sort}").text)
        for sort in ("event_name", "-event_name")
    )
    assert len(ascending) == len(descending) == 2
    assert ascending[0][0] != descending[0][0]
    text = site.get(f"{HOTSPOTS}?device=phone&page=2").text
    assert re.search(r"3 to 4 of \d+", text)
    assert site.get(f"{HOTSPOTS}?sort=colour").status_code == 400


def test_a_history_is_drawn_and_a_file_has_the_drawing(site: TestClient) -> None:
    text = site.get("/explore/build_history?device=phone").text
    assert "over 12 builds" in text
    assert "event" in _chips(text)  # whole runs, as nothing else was said
    drawing = site.get(links(text)["SVG"])
    assert drawing.headers["content-type"] == "image/svg+xml"
    assert fromstring(drawing.text).tag.endswith("svg")  # noqa: S314 - ours
    assert site.get("/explore/notes.svg").status_code == 404


def test_files_and_commands_ask_the_same_question(site: TestClient) -> None:
    text = site.get(f"{HOTSPOTS}?device=phone").text
    rows = site.get(links(text)["CSV"]).text
    assert "native_call_convolution.out" in rows
    assert "tablet" not in rows
    assert "tracehouse query operator_hotspots --device phone --build b11" in unescape(text)
    assert "warehouse.query('operator_hotspots', device='phone', build='b11')" in unescape(text)
    assert "WITH" in text[text.index('class="statement"') :]
    assert "Python computes" in site.get("/explore/change_points").text


def test_two_builds_are_the_last_two_unless_the_address_says_so(site: TestClient) -> None:
    chips = _chips(site.get("/explore/regression_deltas").text)
    assert (chips["base"][0], chips["head"][0]) == ("b10", "b11")


def test_a_question_page_asks_for_missing_parameters(site: TestClient) -> None:
    text = site.get("/explore/backend_comparison").text
    assert "Choose base backend and head backend first." in text
    assert 'name="base_backend"' in text


def test_an_invalid_filter_is_reported_beside_the_filters(site: TestClient) -> None:
    answer = site.get(f"{HOTSPOTS}?top_n=many")
    assert answer.status_code == 400
    assert "top_n: &#39;many&#39;, wanted a whole number" in answer.text
    assert '<form class="filters"' in answer.text
    assert site.get("/explore/no_such_query").status_code == 404


def test_the_group_of_an_answer_is_shown_whole_and_others_in_part() -> None:
    found = dict(rail("layer_hotspots"))
    assert len(found["Where time goes"]) == len(QUESTIONS["Where time goes"])
    assert len(found["What got slower"]) == SHORT
    assert [title for title, _, is_current in found["Where time goes"] if is_current] == [
        "Time by source line"
    ]
