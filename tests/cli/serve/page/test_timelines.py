"""A median run of two builds on one time axis."""

from __future__ import annotations

import re
from html import unescape

from starlette.testclient import TestClient

from tests.support.pages import links
from tracehouse.queries.report.figures import duration_text

PATH = "/timelines?device=phone&base=b8&head=b9"


def test_both_builds_have_the_same_time_axis(site: TestClient) -> None:
    text = site.get(PATH).text
    found = re.findall(r'<figcaption><a href="(/dumps/\w+)">(b\d+) on phone: ([\d.]+) µs', text)
    assert [build for _, build, _ in found] == ["b8", "b9"]
    lengths = [float(length) for _, _, length in found]
    assert lengths[0] < lengths[1]
    assert re.findall(r">([\d.]+) µs</text>", text) == [f"{lengths[1]:.2f}"] * 2
    assert [site.get(href).status_code for href, _, _ in found] == [200, 200]


def test_a_build_without_the_run_is_said(site: TestClient) -> None:
    text = site.get("/timelines?device=tablet&base=b10&head=b11").text
    assert "One of the builds has no such run" in text


def test_without_builds_the_last_two_are_shown_and_can_be_chosen(site: TestClient) -> None:
    text = site.get("/timelines?device=phone").text
    assert "A median run of b10 and b11" in text
    assert '<select name="base">' in text


def test_without_a_device_the_runs_are_of_one_place(site: TestClient) -> None:
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
