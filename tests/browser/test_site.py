"""The service's page in real headless Chromium: `make test-browser`."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
import uvicorn

from cli.serve.http.app import make_app
from cli.serve.page.site import VIEWS
from cli.serve.service import Service
from cli.serve.settings import ServiceSettings
from tests.browser.test_report_page import CONTRASTS
from tests.support.browser import CHROMIUM, Page, open_browser
from tests.support.nightly_farm import ingest_nights

pytestmark = pytest.mark.skipif(
    not CHROMIUM, reason="make test-browser finds no chromium: apt-get install chromium"
)
PHONE, DESK = 360, 1200
MORE = ["/operator?event=native_call_convolution.out", "/sql?sql=SELECT+1+AS+a", "/login"]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with open_browser(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a service of the nightly farm."""
    store = ingest_nights(tmp_path_factory.mktemp("site") / "s")
    service = Service(store, ServiceSettings(port=0, free_bytes=0))
    server = uvicorn.Server(
        uvicorn.Config(make_app(service), host="127.0.0.1", port=0, log_config=None)
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    deadline = time.monotonic() + 30
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="module")
def dump(site: str, browser: Page) -> str:
    """The address of a dump's page."""
    browser.show(f"{site}/dumps", width=DESK)
    found: str = browser.evaluate(
        "[...document.links].map(a => a.getAttribute('href')).find(a => a.startsWith('/dumps/'))"
    )
    return found


@pytest.mark.parametrize("width", [PHONE, DESK])
@pytest.mark.parametrize("path", [*VIEWS, *MORE, "dump"])
def test_every_view_fits_and_loads_nothing_from_elsewhere(
    site: str, browser: Page, dump: str, path: str, width: int
) -> None:
    browser.show(site + (dump if path == "dump" else path), width=width)
    assert browser.complaints() == []
    assert {url.rpartition("/")[0] == site or url.startswith((site, "data:"))
            for url in browser.requests()} == {True}  # fmt: skip
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.evaluate("document.scripts.length") == 0


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("path", [*VIEWS, *MORE, "dump"])
def test_every_text_stands_out_from_what_is_behind_it(
    site: str, browser: Page, dump: str, path: str, is_dark: bool
) -> None:
    browser.show(site + (dump if path == "dump" else path), width=DESK, is_dark=is_dark)
    browser.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    assert browser.evaluate(CONTRASTS) == []


def test_a_filter_is_set_with_the_keyboard_alone(site: str, browser: Page) -> None:
    browser.show(f"{site}/latency", width=DESK)
    browser.evaluate("document.querySelector('input[name=device]').focus()")
    browser.forget()
    browser.press("tablet", "Enter")
    browser.wait()
    assert "device=tablet" in browser.evaluate("location.search")
    rows = browser.evaluate("document.querySelector('table').innerText")
    assert "tablet" in rows
    assert "phone" not in rows


def test_the_first_tab_leads_past_the_navigation(site: str, browser: Page) -> None:
    browser.show(f"{site}/", width=DESK)
    browser.press("Tab")
    assert browser.evaluate("document.activeElement.getAttribute('href')") == "#main"


def test_plots_are_named_for_those_who_hear_the_page(site: str, browser: Page) -> None:
    browser.show(f"{site}/latency", width=DESK)
    images = browser.names("image")
    assert any(name.startswith("Method::execute over 12 builds") for name in images)
    assert "" not in images
    assert browser.names("heading")[:2] == ["Latency", "Time of one run, by build"]


def test_a_link_of_the_fleet_leads_to_the_devices_operators(site: str, browser: Page) -> None:
    browser.show(f"{site}/", width=DESK)
    browser.forget()
    browser.evaluate("[...document.links].find(a => a.textContent.startsWith('b10')).click()")
    browser.wait()
    text = browser.evaluate("document.body.innerText")
    assert "tablet · net, b10" in text
    assert "native_call_convolution.out" in text
