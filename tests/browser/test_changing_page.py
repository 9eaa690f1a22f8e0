"""A page that is open while dumps are uploaded: `make test-browser`."""

from __future__ import annotations

import httpx2
import pytest

from tests.support.axe import find_obstacles
from tests.support.browser import DESK, PHONE, Page
from tests.support.uploads import new_dump, send
from tests.support.waiting import until

LINE = "document.querySelector('.news').innerText"
SOON = "performance.now = () => 1e9"  # nobody has used the page for long


def _upload(site: str, *bodies: bytes) -> None:
    with httpx2.Client(base_url=site) as client:
        for body in bodies:
            send(client, body)


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_a_line_says_what_is_new_and_a_click_shows_it(site: str, page: Page, width: int) -> None:
    page.show(f"{site}/dumps", width=width)
    first = "document.querySelector('main td').innerText"
    before = page.evaluate(first)
    _upload(site, new_dump(), new_dump())
    until(lambda: page.evaluate(LINE).startswith("2 new dumps"))
    assert page.complaints() == []
    assert find_obstacles(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    bottom = page.evaluate("document.querySelector('.news').getBoundingClientRect().bottom")
    assert bottom <= 800
    assert page.evaluate(first) == before
    page.forget()
    page.evaluate("document.querySelector('.news button').click()")
    page.wait()
    assert page.evaluate(first) != before
    assert page.evaluate(LINE) == ""


def test_a_page_is_loaded_again_when_nobody_uses_it(site: str, page: Page) -> None:
    page.show(f"{site}/", width=DESK)
    page.evaluate("document.querySelector('main a').focus()")
    page.evaluate(SOON)
    _upload(site, new_dump())
    until(lambda: page.evaluate(LINE).startswith("1 new dump "))
    page.forget()
    page.evaluate("document.activeElement.blur()")
    page.wait()
    assert page.evaluate(LINE) == ""
    assert page.complaints() == []


def test_a_hidden_tab_listens_to_nothing_and_catches_up(site: str, page: Page) -> None:
    page.show(f"{site}/explore/build_history", width=DESK)
    page.evaluate("Object.defineProperty(document, 'hidden', {value: true, configurable: true})")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    _upload(site, new_dump())
    with httpx2.Client(base_url=site) as client:
        until(lambda: "tracehouse_listeners 0.0" in client.get("/metrics").text)
    assert page.evaluate(LINE) == ""
    page.evaluate("Object.defineProperty(document, 'hidden', {value: false})")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    until(lambda: page.evaluate(LINE).startswith("1 new dump "))
