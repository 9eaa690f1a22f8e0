"""axe-core finds no fault with any page: `make test-browser`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.axe import find_obstacles
from tests.support.browser import DESK, PHONE, Page
from tests.support.reports import coverage, full_report
from tracehouse.cli.serve.page.site import VIEWS
from tracehouse.queries.report.html import html_text

MORE = (
    "/explore/build_history?event=native_call_convolution.out",
    "/explore/operator_hotspots",
    "/explore/build_history?device=phone",
    "/regressions",
    "/timelines?device=phone&base=b8&head=b9&event=native_call_relu.out",
    "/help",
    "/sql?sql=SELECT+1+AS+a",
    "/login",
    "/explore/build_history?device=no",
)


@pytest.mark.parametrize("width", [PHONE, DESK])
@pytest.mark.parametrize("path", [*VIEWS, *MORE, "dump"])
def test_every_view_can_be_heard_and_used_with_keys(
    site: str, page: Page, dump: str, path: str, width: int
) -> None:
    page.show(site + (dump if path == "dump" else path), width=width)
    assert find_obstacles(page) == []


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_a_report_can_be_heard_and_used_with_keys(page: Page, tmp_path: Path, width: int) -> None:
    place = tmp_path / "report.html"
    long = coverage(too_few=[f"row {number}" for number in range(120)])
    whole = full_report().model_copy(update={"coverage": long})
    place.write_text(html_text(whole), encoding="utf-8")
    page.show(place, width=width)
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    assert find_obstacles(page) == []
