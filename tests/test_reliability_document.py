"""docs/reliability.md names a test for each fault that a store detects or repairs."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from tests.support.documents import ROOT

TEXT = (ROOT / "docs" / "reliability.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in TEXT.splitlines()
    if line.startswith("| ") and not line.startswith("| fault ")
]


@cache
def names_in(path: Path) -> set[str]:
    return {node.name for node in ast.parse(path.read_text()).body if hasattr(node, "name")}


def test_each_fault_has_a_test_or_is_out_of_scope() -> None:
    assert len(ROWS) > 20
    for row in ROWS:
        assert len(row) == 5, row[0]
        assert "::" in row[4] or "out of scope" in row[2], row[0]


def test_the_tests_that_it_names_exist() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", TEXT)
    assert len(named) == TEXT.count("::")
    missing = [f"{path}::{name}" for path, name in named if name not in names_in(ROOT / path)]
    assert missing == []
