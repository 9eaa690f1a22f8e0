from __future__ import annotations

import re
from pathlib import Path

from tracehouse.queries.drawing import sheet

ROOT = Path(__file__).parents[3]
DRAWN = ("queries/drawing", "queries/report/plots.py", "queries/report/change_picture.py",
         "queries/timeline/run_picture.py")  # fmt: skip


def test_every_rule_has_a_colour_in_each_shade() -> None:
    properties = set(re.findall(r"var\(--([\w-]+)", sheet.page_rules()))
    scoped = {"line", "tone", "wash", "fill", "halo"}
    assert properties - scoped <= sheet.PALETTE.keys()
    assert all(f"--{name}: " in sheet.custom_properties(0) for name in sheet.PALETTE)


def test_a_file_has_colours_for_light_and_dark_pages_and_no_properties() -> None:
    rules = sheet.file_rules({"c1", "line", "span", "slower", "zone"})
    light, dark = rules.split("@media (prefers-color-scheme: dark)")
    for shade, text in enumerate((light, dark)):
        assert f".c1 .line, .line.c1 {{ stroke: {sheet.PALETTE['s-2'][shade]}; }}" in text
        assert f"stroke: {sheet.PALETTE['act'][shade]};" in text
    assert "stroke-width: 3;" in light
    assert "var(" not in rules
    assert ".mark" not in rules  # nothing has that class


def test_every_class_that_is_filled_or_stroked_has_a_rule() -> None:
    paths = [path for name in DRAWN for path in (ROOT / name).rglob("*.py")]
    paths += [ROOT / name for name in DRAWN if name.endswith(".py")]
    text = "".join(path.read_text(encoding="utf-8") for path in paths)
    named = set(re.findall(r'rectangle\([^"]*"([a-z]+)"\)', text))
    named |= set(re.findall(r'class_=\["([a-z]+)"\]', text)) - {"bg", "more", "at"}
    rules = sheet.page_rules()
    assert {name for name in named if not re.search(rf"\.{name}\b", rules)} == set()
