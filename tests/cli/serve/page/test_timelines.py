"""A median run of two builds on one time axis."""

from __future__ import annotations

import re

from starlette.testclient import TestClient

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


def test_two_builds_must_be_named(site: TestClient) -> None:
    answer = site.get("/timelines?base=b8")
    assert answer.status_code == 400
    assert "name two builds" in answer.text
