from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
import uvicorn

from tests.support.browser import CHROMIUM, DESK, Page, open_browser
from tests.support.nightly_farm import ingest_nights
from tracehouse import Warehouse
from tracehouse.cli.serve.app import make_app
from tracehouse.cli.serve.service import Service
from tracehouse.cli.serve.settings import ServiceSettings
from tracehouse.queries.report.nightly import read_night
from tracehouse.queries.report.settings import Settings


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A page of a browser, for all tests of a module."""
    if not CHROMIUM:
        pytest.skip("make test-browser finds no chromium: apt-get install chromium")
    with open_browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a service of the nightly farm, whose last night is judged."""
    store = ingest_nights(tmp_path_factory.mktemp("site") / "s")
    with Warehouse.open(store) as warehouse:
        warehouse.keep_night(read_night(warehouse, Settings(), None).packed())
    service = Service(store, ServiceSettings(port=0, free_bytes=0, batch_seconds=0.1))
    config = uvicorn.Config(
        *(make_app(service), "127.0.0.1", 0), log_config=None, timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
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
