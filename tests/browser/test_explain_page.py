"""An explanation's page in real headless Chromium: `make test-browser`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.test_report_page import CONTRASTS, DESK, HOSTILE, PHONE
from tests.support.axe import find_obstacles
from tests.support.browser import Page
from tests.support.explained import explanation, frame, run_times
from tests.support.softplus import softplus_explanation
from tracehouse.queries.explain.forms import render


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    named = explanation(
        findings=list(HOSTILE),
        commands=list(HOSTILE),
        times=[run_times(*(frame(name, 90.0, 140.0) for name in HOSTILE[:10]))],
    )
    for name, made in (("real", softplus_explanation()), ("named", named)):
        (folder / f"{name}.html").write_text(render(made, "html"), encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", ["real", "named"])
@pytest.mark.parametrize("width", [PHONE, DESK])
def test_page_fits_complains_of_nothing_and_loads_nothing(
    page: Page, pages: Path, name: str, width: int
) -> None:
    path = pages / f"{name}.html"
    page.show(path, width=width)
    assert page.complaints() == []
    assert page.requests() == [path.as_uri()]
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
def test_every_text_stands_out_from_what_is_behind_it(
    page: Page, pages: Path, is_dark: bool
) -> None:
    page.show(pages / "real.html", width=DESK, is_dark=is_dark)
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    assert page.evaluate(CONTRASTS) == []


def test_hostile_names_are_text(page: Page, pages: Path) -> None:
    page.show(pages / "named.html", width=DESK)
    assert page.evaluate("document.querySelectorAll('script, img, [onerror]').length") == 0


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_the_page_can_be_heard_and_used_with_keys(page: Page, pages: Path, width: int) -> None:
    page.show(pages / "real.html", width=width)
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    assert find_obstacles(page) == []


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_a_service_leads_from_an_alert_to_a_view_that_fits(
    site: str, page: Page, width: int
) -> None:
    page.show(f"{site}/regressions?head=b11", width=width)
    link = page.evaluate("document.querySelector('a[href^=\"/explain\"]').getAttribute('href')")
    page.show(site + link, width=width)
    assert page.complaints() == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert find_obstacles(page) == []
