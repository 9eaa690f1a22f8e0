"""The Inspector's TSV: the rows that event blocks make in it."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from tests.tools.parity.durations import STATISTICS
from tests.tools.parity.goldens import Json

_COLUMNS = ("op_types", "is_delegated_op", "delegate_backend_name", "start_time")
_HIDDEN = "OPERATOR_CALL"
_FRAME = ("╒", "╞", "├", "╘")
_PARSED = "delegate_debug_metadatas"


def read_rows(text: str) -> list[list[str]]:
    """Header and rows of a TSV."""
    return list(csv.reader(io.StringIO(text, newline=""), delimiter="\t"))


def read_grid(text: str) -> list[list[str]]:
    """Header and rows of a printed table; what stands on several lines of a cell is joined."""
    rows: list[list[list[str]]] = []
    for line in text.splitlines():
        if line.startswith(_FRAME):
            rows.append([])
        elif rows:
            rows[-1].append(line.strip("│").split("│"))
    return [
        [" ".join(map(str.strip, lines)).strip() for lines in zip(*row, strict=False)]
        for row in rows
        if row
    ]


def expected_rows(blocks: Sequence[Json], unit: str, *, has_parser: bool) -> list[list[str]]:
    """Header and rows that the blocks make, with parsed metadata if there was a parser."""
    shown = [
        (block, event)
        for block in blocks
        for event in block["events"]
        if _HIDDEN not in event["name"]
    ]
    metadata = [event.get(_PARSED, {}) for _, event in shown] if has_parser else []
    parsed = list(dict.fromkeys(key for found in metadata for key in found))
    header = ["", "event_block_name", "event_name", *(f"{name} ({unit})" for name in STATISTICS)]
    rows = [
        [str(i), *_cells(block["name"], event), *_parsed_cells(event, parsed)]
        for i, (block, event) in enumerate(shown)
    ]
    return [[*header, *_COLUMNS, *parsed], *rows]


def are_same_rows(left: Sequence[Sequence[str]], right: Sequence[Sequence[str]]) -> bool:
    """Whether two tables are equal, wherever pandas made a number a fraction."""
    if len(left) != len(right):
        return False
    return all(
        len(one) == len(other) and all(map(_is_same_cell, one, other))
        for one, other in zip(left, right, strict=True)
    )


def _is_same_cell(left: str, right: str) -> bool:
    return left == right or left.removesuffix(".0") == right.removesuffix(".0")


def _cells(block_name: str, event: Json) -> list[str]:
    numbers = [_text(event[name]) for name in STATISTICS]
    return [block_name, event["name"], *numbers, _operators(event), *map(_text, _rest(event))]


def _rest(event: Json) -> list[Any]:
    return [event[name] for name in _COLUMNS[1:]]


def _parsed_cells(event: Json, names: Sequence[str]) -> list[str]:
    parsed = event.get(_PARSED, {}) if names else {}
    return [_text(parsed.get(name)) for name in names]


def _operators(event: Json) -> str:
    names = event["op_types"]
    if len(names) < 5:
        return str(names)
    return f"['{names[0]}', '{names[1]}' ... '{names[-1]}'] ({len(names)} total)"


def _text(value: Any) -> str:
    return "" if value is None else str(value)
