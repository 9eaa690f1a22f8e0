from __future__ import annotations

import json

from tests.tools.pictures import PICTURES, RECORD, SCHEMES, SHOWN, find_hash, named_pictures, retell


def test_pictures_that_documents_name_exist_and_each_is_named() -> None:
    named = {path for paths in named_pictures().values() for path in paths}
    assert {path for path in named if not path.exists()} == set()
    made = {PICTURES / f"{one.name}-{scheme}.png" for one in SHOWN for scheme in SCHEMES}
    assert {*PICTURES.glob("*.png")} == made
    assert made <= named


def test_pictures_are_younger_than_what_they_show() -> None:
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))
    assert recorded == {"shown": find_hash()}, "make pictures"


def test_pictures_are_small() -> None:
    assert sum(path.stat().st_size for path in PICTURES.glob("*.png")) < 1 << 20


def test_only_output_of_commands_in_console_blocks_is_regenerated() -> None:
    text = (
        "```console\n$ tracehouse ls  # why\nold\n\n$ tracehouse ingest x\ncounts\n"
        "$ tracehouse compare a b\n```\n```text\n$ tracehouse ls\nold\n```\n"
    )
    told = retell(text, lambda args: f"new {args}\n")
    assert told == text.replace("# why\nold\n", "# why\nnew ['ls']\n")
