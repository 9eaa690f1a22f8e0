"""docs/reliability.md and docs/security.md name a test for each promise and for each threat."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.support.documents import ROOT

TEXTS = {name: (ROOT / "docs" / name).read_text() for name in ("reliability.md", "security.md")}


def rows_of(text: str, title: str) -> list[list[str]]:
    """The cells of all tables whose first column has this title."""
    tables = [part for part in text.split("\n\n") if part.startswith(f"| {title} ")]
    lines = (line for table in tables for line in table.splitlines()[2:])
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


@cache
def names_in(path: Path) -> set[str]:
    return {node.name for node in ast.parse(path.read_text()).body if hasattr(node, "name")}


def test_each_promise_has_a_test() -> None:
    rows = rows_of(TEXTS["reliability.md"], "promise")
    assert len(rows) > 30
    for row in rows:
        assert len(row) == 3, row[0]
        assert "::" in row[2], row[0]


def test_each_threat_has_a_test() -> None:
    rows = rows_of(TEXTS["security.md"], "threat")
    assert len(rows) > 10
    for row in rows:
        assert len(row) == 5, row[0]
        assert "::" in row[3], row[0]


@pytest.mark.parametrize("name", TEXTS)
def test_named_tests_exist(name: str) -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", TEXTS[name])
    assert len(named) == TEXTS[name].count("::")
    missing = [f"{path}::{name}" for path, name in named if name not in names_in(ROOT / path)]
    assert missing == []
