"""A run on a time axis, as the page shows it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from html import unescape

from starlette.testclient import TestClient

from tracehouse.cli.serve.page.charts import timeline_chart


def test_a_timeline_without_slices_has_no_chart() -> None:
    assert timeline_chart([], "/drawing") == []


def test_a_run_can_be_downloaded_as_a_drawing(site: TestClient) -> None:
    (path, *_) = re.findall(r'href="(/dumps/[0-9a-f]{64})"', site.get("/dumps").text)
    text = site.get(path, params={"run": "3"}).text
    (drawing,) = map(unescape, re.findall(r'<a href="([^"]+)" download=', text))
    answer = site.get(drawing)
    assert answer.headers["content-type"] == "image/svg+xml"
    assert ET.fromstring(answer.text).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314 - ours
    assert "<title>convolution #1: " in answer.text
