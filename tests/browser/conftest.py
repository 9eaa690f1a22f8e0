from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.browser import CHROMIUM, Page, open_browser


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A page of a browser, for all tests of a module."""
    if not CHROMIUM:
        pytest.skip("make test-browser finds no chromium: apt-get install chromium")
    with open_browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened
