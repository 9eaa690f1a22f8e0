"""Tests mirror the tree: a file is named after the module or .sql file that it tests.

A file about something else begins with a docstring that says what.
"""

from __future__ import annotations

from pathlib import Path

from tests.support.documents import ROOT

TESTS = ROOT / "tests"
FILES = [
    path.relative_to(TESTS)
    for path in sorted(TESTS.rglob("test_*.py"))
    if path.parent != TESTS and path.relative_to(TESTS).parts[0] != "tools"
]


def test_files_are_named_after_what_they_test_or_begin_with_what_it_is() -> None:
    others = [path for path in FILES if not is_mirror(path)]
    assert [path for path in others if not (TESTS / path).read_text().startswith('"""')] == []


def is_mirror(path: Path) -> bool:
    """Whether there is what a test file's name says that it tests."""
    name = path.stem.removeprefix("test_")
    tested = [path.parent / f"{name}.py", Path("sql", "queries", f"{name}.sql")]
    return any((ROOT / file).exists() for file in tested[: 1 + (path.parts[0] == "sql")])
