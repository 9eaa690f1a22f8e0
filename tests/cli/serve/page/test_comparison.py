from __future__ import annotations

import re
from html import unescape

import pytest
from starlette.testclient import TestClient

from tests.support.nightly_farm import breakdown_of_phone
from tests.support.pages import links, table_rows
from tracehouse.queries.report.figures import duration_text
from tracehouse.queries.report.tables import list_sums

PAIR = {"base": "b8", "head": "b9", "device": "phone"}


def _operators(text: str) -> list[list[str]]:
    """The rows of operators, those that are folded last."""
    return table_rows(text[text.index("<h2>Operators") :].partition("<h2>")[2].partition("<h2>")[0])


def test_the_answer_is_a_sentence_and_the_counts_add_up(site: TestClient) -> None:
    text = site.get("/compare", params=PAIR).text
    assert re.search(r"<h1>1 operator is slower .*\+1[45]\.\d %.*</h1>", text)
    assert "b9 against b8" in text
    total, *parts = map(int, re.findall(r"<b>(\d+)</b>", text[text.index('class="tally"') :]))
    assert total == sum(parts[: len(re.findall("<li class=", text.partition("</ul>")[0]))])


def test_changes_have_verdicts_and_noise_is_folded(site: TestClient) -> None:
    text = site.get("/compare", params=PAIR).text
    first, *others = _operators(text)
    assert first[0] == "convolution #1"
    assert first[1] == "net"
    assert first[-1] == "slower"
    assert 13 < float(first[3].strip("+ %")) < 17
    assert 'class="iv"' in text
    assert others
    assert {"slower", "faster"}.isdisjoint(row[-1] for row in others)
    assert text.index('<details class="after">') > text.index("convolution")


def test_an_operator_leads_to_its_history(site: TestClient) -> None:
    text = site.get("/compare", params=PAIR).text
    (href,) = set(
        re.findall(r'<a class="op" href="(/explore/build_history[^"]*convolution[^"]*)"', text)
    )
    assert unescape(href) == (
        "/explore/build_history?event=native_call_convolution.out&ordinal=1&model=net&device=phone"
    )


def test_the_parts_of_a_method_s_change_are_those_of_the_report(site: TestClient) -> None:
    text = site.get("/compare", params={"base": "b8", "head": "b9", "device": "phone"}).text
    (table,) = list_sums([breakdown_of_phone("b8", "b9")])
    assert f"<h2>{table.title}</h2>" in text
    rows = table_rows(text[text.index(f"<h2>{table.title}</h2>") :])
    assert rows[: len(table.rows)] == [list(row) for row in table.rows]
    assert "Parts of the change" not in site.get("/compare?base=b7&head=b8&device=phone").text


def test_compare_without_builds_uses_the_last_two(site: TestClient) -> None:
    assert "b11 against b10" in site.get("/compare?device=phone").text
    assert "b10 against b9" in site.get("/compare?device=tablet").text
    assert "b8 against b7" in site.get("/compare?head=b8").text


def test_a_filter_by_build_does_not_hide_the_compared_ones(site: TestClient) -> None:
    assert _operators(site.get("/compare?base=b9&head=b10&build=b9").text)


def test_both_builds_are_chosen_from_a_list(site: TestClient) -> None:
    text = site.get("/compare?base=b1").text
    assert '<select name="base"><option value="">the one before</option>' in text
    assert "<option selected>b1</option>" in text
    assert "<option selected>b11</option>" in text
    assert links(text)["Swap base and head"] == "/compare?base=b11&head=b1"


@pytest.mark.parametrize(
    ("params", "told"),
    [({"base": "b1", "head": "b1"}, "name two builds"), ({"base": "b77"}, "b77")],
)
def test_an_impossible_comparison_is_reported_beside_the_form(
    site: TestClient, params: dict[str, str], told: str
) -> None:
    answer = site.get("/compare", params=params)
    assert answer.status_code == 400
    assert told in answer.text
    assert 'name="head"' in answer.text


def test_a_comparison_page_links_its_csv_and_command(site: TestClient) -> None:
    text = site.get("/compare", params=PAIR).text
    answer = site.get(links(text)["CSV"])
    assert "native_call_convolution.out" in answer.text
    assert "tablet" not in answer.text
    assert "tracehouse compare b8 b9 --device phone" in text


PATH = "/timelines?device=phone&base=b8&head=b9"


def test_both_builds_have_the_same_time_axis(site: TestClient) -> None:
    text = site.get(PATH).text
    found = re.findall(r'<figcaption><a href="(/dumps/\w+)">(b\d+) on phone: ([\d.]+) µs', text)
    assert [build for _, build, _ in found] == ["b8", "b9"]
    lengths = [float(length) for _, _, length in found]
    assert lengths[0] < lengths[1]
    assert re.findall(r">([\d.]+) µs</text>", text) == [f"{lengths[1]:.2f}"] * 2
    assert [site.get(href).status_code for href, _, _ in found] == [200, 200]


def test_timelines_say_that_a_build_lacks_the_run(site: TestClient) -> None:
    text = site.get("/timelines?device=tablet&base=b10&head=b11").text
    assert "One of the builds has no such run" in text


def test_timelines_without_builds_show_the_last_two_and_a_choice(site: TestClient) -> None:
    text = site.get("/timelines?device=phone").text
    assert "A median run of b10 and b11" in text
    assert '<select name="base">' in text


def test_timelines_without_a_device_filter_show_one_device(site: TestClient) -> None:
    text = site.get("/timelines?base=b8&head=b9").text
    devices = re.findall(r"<figcaption><a [^>]*>b\d+ on (\w+):", text)
    assert len(set(devices)) == 1


def test_the_changed_operator_is_outlined(site: TestClient) -> None:
    text = site.get(f"{PATH}&event=native_call_convolution.out").text
    assert text.count('class="kind-kernel changed"') == 2
    assert "is outlined" in text


def test_an_event_leads_to_the_part_of_the_run_that_it_takes(site: TestClient) -> None:
    text = site.get(PATH).text
    href = next(
        unescape(one) for one in re.findall(r'<a [^>]*href="(/timelines[^"]+to=[^"]+)"', text)
    )
    part = site.get(href).text
    start = float(re.findall(r"from=(\d+)", href)[0])
    assert links(part)["Whole run"] == ("/timelines?device=phone&model=net&base=b8&head=b9")
    assert part.count(f">{duration_text(start) if start else 0}</text>") == 2
    assert site.get(f"{PATH}&from=9&to=3").status_code == 400
