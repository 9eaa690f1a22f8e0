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
from tests.support.browser import Page
from tests.support.nightly_farm import ingest_nights

PHONE, DESK = 360, 1200
MORE = ["/operator?event=native_call_convolution.out", "/sql?sql=SELECT+1+AS+a", "/login"]


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
def dump(site: str, page: Page) -> str:
    """The address of a dump's page."""
    page.show(f"{site}/dumps", width=DESK)
    found: str = page.evaluate(
        "[...document.links].map(a => a.getAttribute('href')).find(a => a.startsWith('/dumps/'))"
    )
    return found


@pytest.mark.parametrize("width", [PHONE, DESK])
@pytest.mark.parametrize("path", [*VIEWS, *MORE, "dump"])
def test_every_view_fits_and_loads_nothing_from_elsewhere(
    site: str, page: Page, dump: str, path: str, width: int
) -> None:
    page.show(site + (dump if path == "dump" else path), width=width)
    assert page.complaints() == []
    assert {url.rpartition("/")[0] == site or url.startswith((site, "data:"))
            for url in page.requests()} == {True}  # fmt: skip
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.scripts.length") == 0


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("path", [*VIEWS, *MORE, "dump"])
def test_every_text_stands_out_from_what_is_behind_it(
    site: str, page: Page, dump: str, path: str, is_dark: bool
) -> None:
    page.show(site + (dump if path == "dump" else path), width=DESK, is_dark=is_dark)
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    assert page.evaluate(CONTRASTS) == []


def test_a_filter_is_set_with_the_keyboard_alone(site: str, page: Page) -> None:
    page.show(f"{site}/latency", width=DESK)
    page.evaluate("document.querySelector('input[name=device]').focus()")
    page.forget()
    page.press("tablet", "Enter")
    page.wait()
    assert "device=tablet" in page.evaluate("location.search")
    rows = page.evaluate("document.querySelector('table').innerText")
    assert "tablet" in rows
    assert "phone" not in rows


def test_the_first_tab_leads_past_the_navigation(site: str, page: Page) -> None:
    page.show(f"{site}/", width=DESK)
    page.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('href')") == "#main"


def test_plots_are_named_for_those_who_hear_the_page(site: str, page: Page) -> None:
    page.show(f"{site}/latency", width=DESK)
    images = page.names("image")
    assert any(name.startswith("Method::execute over 12 builds") for name in images)
    assert "" not in images
    assert page.names("heading")[:2] == ["Latency", "Time of one run, by build"]


def test_a_link_of_the_fleet_leads_to_the_devices_operators(site: str, page: Page) -> None:
    page.show(f"{site}/", width=DESK)
    page.forget()
    page.evaluate("[...document.links].find(a => a.textContent.startsWith('b10')).click()")
    page.wait()
    text = page.evaluate("document.body.innerText")
    assert "tablet · net, b10" in text
    assert "native_call_convolution.out" in text
