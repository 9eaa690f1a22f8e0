"""Examples in docstrings give what they say."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

from tests.support.documents import ROOT

PACKAGES = ("ingest", "warehouse", "queries", "cli", "sql", "tracehouse")
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for package in PACKAGES
    for path in sorted((ROOT / package).rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module_give_what_they_say(name: str) -> None:
    result = doctest.testmod(import_module(name), optionflags=doctest.ELLIPSIS)
    assert (result.failed, result.attempted > 0) == (0, True)
