"""Dependencies run one way, third parties included."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

ALLOWED = {
    "ingest": {"ingest", "flatbuffers", "numpy", "pyarrow", "pydantic", "pydantic_core"},
    "warehouse": {"warehouse", "ingest", "duckdb", "numpy", "pyarrow"},
    "queries": {"queries", "warehouse", "ingest", "duckdb", "numpy", "pyarrow"},
    "cli": {"cli", "queries", "warehouse", "ingest", "pyarrow", "rich", "typer"},
    "sql": set(),
}
# "path/of/module.py imports name": reason
EXCEPTIONS: dict[str, str] = {}

MODULES = sorted(path for package in ALLOWED for path in (ROOT / package).rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_module_imports_only_what_its_layer_may(path: Path) -> None:
    module = path.relative_to(ROOT)
    allowed = ALLOWED[module.parts[0]] | sys.stdlib_module_names
    wrong = {
        f"{module} imports {name}"
        for name in imported_names(path.read_text(encoding="utf-8"))
        if name.partition(".")[0] not in allowed
    }
    assert wrong <= EXCEPTIONS.keys()


def test_every_package_has_its_line_in_the_table() -> None:
    assert {path.parent.name for path in ROOT.glob("*/__init__.py")} == ALLOWED.keys()


def test_walk_sees_every_kind_of_import() -> None:
    text = "import a.b, c\nfrom d.e import f\nfrom . import g\ndef h():\n    import i"
    assert list(imported_names(text)) == ["a.b", "c", "d.e", ".", "i"]


def imported_names(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")
