"""Where the time of a build goes."""

from __future__ import annotations

import re

from starlette.testclient import TestClient


def test_the_newest_build_is_taken_without_any(site: TestClient) -> None:
    text = site.get("/operators").text
    assert re.findall(r"<h2>(.*?)</h2>", text) == ["phone · net, b11"]
    assert "native_call_sigmoid.out" in text


def test_the_newest_build_is_that_of_the_device(site: TestClient) -> None:
    text = site.get("/operators", params={"device": "tablet"}).text
    assert re.findall(r"<h2>(.*?)</h2>", text) == ["tablet · net, b10"]


def test_shares_are_of_the_whole_and_the_largest_comes_first(site: TestClient) -> None:
    text = site.get("/operators", params={"device": "tablet"}).text
    shares = [float(share) for share in re.findall(r">([\d.]+)%<", text)]
    assert abs(sum(shares) - 100) < 0.5
    assert shares == sorted(shares, reverse=True)
    assert text.index("native_call_convolution.out") < text.index("native_call_relu.out")
