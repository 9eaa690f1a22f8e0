"""Two builds side by side."""

from __future__ import annotations

import re

import pytest
from starlette.testclient import TestClient

from tests.support.nightly_farm import breakdown_of_phone
from tests.support.pages import links, table_rows
from tracehouse.queries.report.tables import list_sums


def _changes(site: TestClient, **params: str) -> dict[str, str]:
    """The change of each operator."""
    text = site.get("/compare", params=params).text
    return {name: change for name, change, *_ in table_rows(text[text.index(" against ") :])}


def test_operators_stand_with_both_times_and_the_dearest_change_first(site: TestClient) -> None:
    text = site.get("/compare", params={"base": "b8", "head": "b9", "device": "phone"}).text
    text = text[text.index("<h2>b9 against b8") :]
    first, second, *_ = table_rows(text)
    assert {first[0], second[0]} == {"Execute", "convolution #1"}
    (row,) = (row for row in (first, second) if "convolution" in row[0])
    assert 13 < float(row[1].strip("+ %")) < 17
    assert 38 < float(row[2].split()[0]) < 42
    assert 44 < float(row[3].split()[0]) < 48
    assert row[4].startswith("+")
    assert row[5:] == ["slower", "net", "phone"]
    for other in table_rows(text):
        base, head = (float(cell.split()[0]) for cell in other[2:4])
        change = float(other[1].strip("+ %").replace("−", "-"))
        assert head == pytest.approx(base * (1 + change / 100), rel=2e-3)
    assert re.search(r"\d+ operators: \d+ slower, ", text)
    assert links(text)["convolution #1"] == (
        "/operator?event=native_call_convolution.out&ordinal=1&model=net&device=phone"
    )


def test_the_parts_of_a_method_s_change_are_those_of_the_report(site: TestClient) -> None:
    text = site.get("/compare", params={"base": "b8", "head": "b9", "device": "phone"}).text
    (table,) = list_sums([breakdown_of_phone("b8", "b9")])
    assert f"<h2>{table.title}</h2>" in text
    assert table_rows(text)[: len(table.rows)] == [list(row) for row in table.rows]
    assert "Parts of the change" not in site.get("/compare?base=b7&head=b8&device=phone").text


def test_without_names_the_last_two_builds_are_compared(site: TestClient) -> None:
    assert "b11 against b10" in site.get("/compare?device=phone").text
    assert "b10 against b9" in site.get("/compare?device=tablet").text
    assert "b8 against b7" in site.get("/compare?head=b8").text


def test_an_operator_of_one_build_has_no_change(site: TestClient) -> None:
    assert _changes(site, base="b10", head="b11")["sigmoid #1"] == "–"


def test_a_filter_by_build_does_not_hide_the_compared_ones(site: TestClient) -> None:
    assert _changes(site, base="b9", head="b10", build="b9")


def test_both_builds_are_inputs_with_suggestions(site: TestClient) -> None:
    text = site.get("/compare?base=b1").text
    assert (
        '<input name="base" type="text" value="b1" placeholder="the one before" list="known' in text
    )
    assert (
        '<input name="head" type="text" value="" placeholder="the last build" list="known' in text
    )


@pytest.mark.parametrize(
    ("params", "told"),
    [({"base": "b1", "head": "b1"}, "name two builds"), ({"base": "b77"}, "b77")],
)
def test_what_cannot_be_compared_is_told(
    site: TestClient, params: dict[str, str], told: str
) -> None:
    answer = site.get("/compare", params=params)
    assert answer.status_code == 400
    assert told in answer.text
    assert 'name="head"' in answer.text


def test_all_levels_are_a_link_away(site: TestClient) -> None:
    text = site.get("/compare", params={"base": "b8", "head": "b9", "device": "phone"}).text
    answer = site.get(links(text)["All levels of this comparison, as CSV"])
    assert "native_call_convolution.out" in answer.text
    assert "regression" in answer.text
    assert "tablet" not in answer.text
