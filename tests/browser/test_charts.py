"""Charts of the service's page with a mouse, a finger and the keyboard: `make test-browser`."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.support.browser import DESK, PHONE, Page

PLACE = "document.querySelector('.place').textContent"
VALUES = "[...document.querySelectorAll('.legend .value')].map(one => one.textContent)"
# The places on the window of the plot's builds, and of the first line's points.
BOX = """(() => {
  const over = document.querySelector('.live .u-over');
  over.scrollIntoView({block: 'center', behavior: 'instant'});
  const {x, y, width, height} = over.getBoundingClientRect();
  return {x, y, width, height};
})()"""
# Left and right end of the overview's selection, as shares of its width.
SELECTION = """(() => {
  const over = document.querySelectorAll('.live .u-over')[1].getBoundingClientRect();
  const chosen = document.querySelectorAll('.live .u-select')[1].getBoundingClientRect();
  return [(chosen.left - over.left) / over.width, (chosen.right - over.left) / over.width];
})()"""


def _settle(page: Page) -> None:
    """Wait for two frames, in which plots are drawn."""
    page.send(
        "Runtime.evaluate",
        expression="new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))",
        awaitPromise=True,
    )


def _open(page: Page, site: str, width: int = DESK, more: str = "") -> dict[str, Any]:
    page.show(f"{site}/explore/build_history?device=phone{more}", width=width)
    _settle(page)
    box: dict[str, Any] = page.evaluate(BOX)
    _settle(page)
    return box


def _at(box: dict[str, Any], build: int) -> float:
    return float(box["x"] + box["width"] * build / 11)


def test_a_hairline_tells_the_values_of_a_build(site: str, page: Page) -> None:
    page.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page.show(f"{site}/explore/build_history?device=phone", width=DESK)
    finally:
        page.send("Emulation.setScriptExecutionDisabled", value=False)
    drawn = page.evaluate(
        "document.querySelectorAll('.trend .at')[4].querySelector('.values').textContent"
    )
    box = _open(page, site)
    assert page.evaluate(PLACE) == "b11"
    page.hover(_at(box, 4), box["y"] + 20)
    (value,) = page.evaluate(VALUES)
    assert drawn.startswith(f"b4: {value}")
    assert page.evaluate(PLACE) == "b4"
    assert page.complaints() == []


def test_a_click_on_a_point_opens_the_operators_of_its_build(site: str, page: Page) -> None:
    box = _open(page, site)
    for build in (3, 4):  # along the line
        page.hover(_at(box, build), box["y"] + box["height"] / 2)
        _settle(page)
        y = page.evaluate(
            "(() => { const one = document.querySelector('.u-cursor-pt').getBoundingClientRect();"
            " return one.y + one.height / 2 })()"
        )
        page.hover(_at(box, build), y)
    page.forget()
    page.mouse(_at(box, 4), y)
    page.wait()
    assert "/explore/operator_hotspots?device=phone&model=net" in page.evaluate("location.href")
    assert "build=b4" in page.evaluate("location.href")


def test_a_link_to_a_point_opens_the_chart_at_its_build(site: str, page: Page) -> None:
    _open(page, site, more="&at=b4")
    assert page.evaluate(PLACE) == "b4"
    page.evaluate("document.querySelector('.live').focus()")
    page.press("ArrowRight")
    assert page.evaluate(PLACE) == "b5"
    assert page.complaints() == []


def test_dragging_over_the_plot_or_the_overview_zooms_and_escape_ends_it(
    site: str, page: Page
) -> None:
    box = _open(page, site)
    assert page.evaluate(SELECTION) == pytest.approx([0, 1], abs=0.02)
    page.mouse(_at(box, 3), box["y"] + 30, to=_at(box, 7))
    _settle(page)
    assert page.evaluate(SELECTION) == pytest.approx([3 / 11, 7 / 11], abs=0.05)
    assert "/explore/build_history" in page.evaluate("location.href")
    page.evaluate("document.querySelector('.live').focus()")
    page.press("Escape")
    _settle(page)
    assert page.evaluate(SELECTION) == pytest.approx([0, 1], abs=0.02)
    y = page.evaluate(
        "document.querySelectorAll('.live .u-over')[1].getBoundingClientRect().y + 10"
    )
    page.mouse(_at(box, 1), y, to=_at(box, 5))
    _settle(page)
    assert page.evaluate(SELECTION) == pytest.approx([1 / 11, 5 / 11], abs=0.05)


def test_keys_choose_a_build_and_zoom(site: str, page: Page) -> None:
    _open(page, site)
    page.evaluate("document.querySelector('.live').focus()")
    page.press("Home", "ArrowRight", "ArrowRight")
    said = "document.querySelector('.live').getAttribute('aria-valuetext')"
    assert page.evaluate(said).startswith("b2: phone ")
    page.press("+")
    _settle(page)
    left, right = page.evaluate(SELECTION)
    assert right - left == pytest.approx(0.5, abs=0.05)
    page.press("End")
    _settle(page)
    assert page.evaluate(said).startswith("b11: ")
    assert page.evaluate(SELECTION) == pytest.approx([0.5, 1], abs=0.05)


def test_a_finger_chooses_a_build_whose_links_have_room_for_a_thumb(site: str, page: Page) -> None:
    box = _open(page, site, PHONE)
    page.tap(_at(box, 5), box["y"] + box["height"] / 2)
    _settle(page)
    assert page.evaluate(PLACE) == "b5"
    assert "/explore/build_history" in page.evaluate("location.href")
    page.tap(_at(box, 5), box["y"] + box["height"] / 2, to=_at(box, 8))
    _settle(page)
    assert page.evaluate(PLACE) == "b8"
    sizes = page.evaluate(
        "[...document.querySelectorAll('.legend a, .tools a')]"
        ".map(one => one.getBoundingClientRect()).map(one => Math.min(one.width, one.height))"
    )
    assert sizes
    assert min(sizes) >= 44


def test_the_mark_of_an_alert_leads_to_the_alert(site: str, page: Page) -> None:
    page.show(f"{site}/regressions", width=DESK)
    marks = "[...document.querySelectorAll('.marks a')].map(one => one.href)"
    deadline = time.monotonic() + 30
    while not (hrefs := page.evaluate(marks)) and time.monotonic() < deadline:
        page.show(
            f"{site}/explore/build_history?event=native_call_relu.out&device=phone", width=DESK
        )
    anchor = hrefs[0].partition("#")[2]
    page.show(hrefs[0], width=DESK)
    assert page.evaluate(f"document.getElementById('{anchor}').checkVisibility()")
    top = page.evaluate(f"document.getElementById('{anchor}').getBoundingClientRect().top")
    assert -1 < top < page.evaluate("innerHeight")


@pytest.mark.parametrize("more", ["", "&scale=log", "&zero=1"])
@pytest.mark.parametrize("width", [PHONE, DESK])
def test_a_plot_fills_its_frame_and_follows_it(
    site: str, page: Page, width: int, more: str
) -> None:
    _open(page, site, width, more)
    edges = (
        "[document.querySelector('.live').getBoundingClientRect().right,"
        " document.querySelector('.live canvas').getBoundingClientRect().right]"
    )
    frame, plot = page.evaluate(edges)
    assert plot == pytest.approx(frame, abs=1)
    page.send(
        "Emulation.setDeviceMetricsOverride",
        width=width + 200, height=800, deviceScaleFactor=1, mobile=False,
    )  # fmt: skip
    _settle(page)
    _settle(page)
    wider, plot = page.evaluate(edges)
    assert wider > frame + 100
    assert plot == pytest.approx(wider, abs=1)
    assert page.complaints() == []
