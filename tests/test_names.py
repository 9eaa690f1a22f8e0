"""One word, one thing: no two classes share a name, wherever they are."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("ingest", "warehouse", "queries", "cli", "sql")


def test_no_two_classes_share_a_name() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for name in class_names(path.read_text(encoding="utf-8")):
                places[name].append(path.relative_to(ROOT).as_posix())
    assert len(places) > 100
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def test_classes_inside_others_and_in_functions_are_seen() -> None:
    text = "class A:\n    class B: ...\ndef f():\n    class C: ..."
    assert sorted(class_names(text)) == ["A", "B", "C"]


def class_names(text: str) -> list[str]:
    return [node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)]
