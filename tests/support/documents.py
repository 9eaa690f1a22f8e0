"""Our documents: their links, and their blocks of commands and code."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
FOLDERS = ("docs", "ingest", "warehouse", "queries", "cli", "sql", "tests")
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.md"))]
)
# Commands whose output for people is compared as it is: it is more than one table.
PROSE = {"compare", "ls"}
# The mark on a command, or in the first line of a block, that the tests do not run.
NEEDS = re.compile(r"(#|--) needs ")
_FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)


class Block(NamedTuple):
    """A fenced block: its language, its text, and the number of its first line."""

    language: str
    text: str
    line: int

    @property
    def is_run(self) -> bool:
        """Whether its first line has no mark NEEDS."""
        return not NEEDS.search(self.text.partition("\n")[0])


class Command(NamedTuple):
    """A command of a console block, and its documented output."""

    text: str
    shown: list[str]

    @property
    def args(self) -> list[str]:
        """Its words."""
        return shlex.split(self.text, comments=True)

    @property
    def is_run(self) -> bool:
        """Whether it has no mark NEEDS."""
        return not NEEDS.search(self.text)


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a document, in order."""
    return [
        Block(found[2], found[3], text.count("\n", 0, found.start()) + 2)
        for found in _FENCE.finditer(text)
    ]


def commands(block: str) -> list[Command]:
    """The commands of a console block: the text after a ``$``, and the output."""
    found: list[Command] = []
    for line in block.replace("\\\n", "").splitlines():
        if line.startswith("$ "):
            found.append(Command(line[2:], []))
        elif found and (line or found[-1].shown):
            found[-1].shown.append(line)
    return [Command(text, _without_blank_end(shown)) for text, shown in found]


def documented_figures(path: str) -> set[str]:
    """The figures in the document of the service that an endpoint has."""
    text = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")
    _, _, table = text.partition(f"`{path}` has")[2].partition("|---|---|\n")
    rows = re.findall(r"^\| (`.*?`) \|", table.partition("\n\n")[0], re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`(\w+?)(?:_total)?(?:\{.*?\})?`", row)}


def _without_blank_end(lines: list[str]) -> list[str]:
    while lines and not lines[-1]:
        lines = lines[:-1]
    return lines


def links(text: str) -> list[str]:
    """Targets of a document's links outside of blocks."""
    return _LINK.findall(_FENCE.sub("", text))


def anchors(text: str) -> Iterator[str]:
    """The anchors that GitHub gives to the headings of a document."""
    seen: dict[str, int] = {}
    for heading in _HEADING.findall(_FENCE.sub("", text)):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        number = seen[slug] = seen.get(slug, -1) + 1
        yield f"{slug}-{number}" if number else slug


def unlike_table(shown: Sequence[str], rows: Sequence[dict[str, str]]) -> str:
    """The difference of a table in a document from the rows of the answer; '' if they agree.

    A document may leave out columns, digits, and rows in the place of a line ``...``.
    """
    header, *lines = shown
    columns = header.split()
    at, is_gap = 0, False
    for line in lines:
        if line == "...":
            is_gap = True
            continue
        cells = re.split(r"  +", line.strip())
        fitting = [i for i in range(at, len(rows)) if _is_row(columns, cells, rows[i])]
        if not fitting or not (is_gap or fitting[0] == at):
            return f"not in its place: {line}"
        at, is_gap = fitting[0] + 1, False
    return "" if is_gap or at == len(rows) else f"not shown: {rows[at]}"


def _is_row(columns: Sequence[str], cells: Sequence[str], row: dict[str, str]) -> bool:
    return len(columns) == len(cells) and all(
        column in row and _is_cell(cell, row[column], is_time=column in _TIMES)
        for column, cell in zip(columns, cells, strict=True)
    )


_TIMES = {"seconds", "events_per_second"}  # different on every machine


def _is_cell(shown: str, answered: str, *, is_time: bool) -> bool:
    text = shown.replace(",", "")
    if shown == answered or not re.fullmatch(r"-?[\d.]+", text):
        return shown == answered
    digits = len(text.partition(".")[2])
    return is_time or abs(float(text) - float(answered)) <= 0.5000001 * 10**-digits
