"""What axe-core finds wrong with a page for those who hear it or use its keyboard alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.browser import Page

AXE = os.environ.get("AXE", "")
_RUN = """axe.run().then(result => result.violations.map(
    one => [one.id, ...one.nodes.slice(0, 3).map(node => node.html.slice(0, 200))]))"""


def find_obstacles(page: Page) -> list[list[str]]:
    """The rules that the page breaks, each with its first elements."""
    if not AXE:
        pytest.skip("make test-browser finds no axe-core: install npm")
    page.evaluate(Path(AXE).read_text(encoding="utf-8") + ";0")
    done = page.send("Runtime.evaluate", expression=_RUN, awaitPromise=True, returnByValue=True)
    found: list[list[str]] = done["result"]["value"]
    return found
