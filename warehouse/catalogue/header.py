"""The header of a .sql file, which is its documentation: text -> values, no engine.

A header is the block of `--` lines a file starts with::

    -- name: Purpose in one sentence.
    --
    -- Anything a reader should know, in paragraphs.
    --
    -- params:
    --   event   STRING              Required, for it has no default.
    --   scope   STRING(run|all) = 'run'   One of the texts in brackets.
    --   device  STRING = NULL       A line indented deeper
    --                               continues the sentence.
    --
    -- columns:
    --   total_ns  BIGINT   Name, type, and meaning with unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from warehouse.errors import HeaderError

TYPES = ("STRING", "INT", "BIGINT", "DOUBLE", "BOOLEAN", "TIMESTAMP")

_TITLE = re.compile(r"(\w+): +(\S.*)")
_SECTIONS = ("params:", "columns:")
_ENTRY_INDENT = 2
_ENTRY = re.compile(
    r"(?P<name>\w+) +(?P<type>\w+)(?:\((?P<choices>[^)]*)\))?"
    r"(?: += +(?:'(?P<text>[^']*)'|(?P<word>\S+)))? +(?P<doc>\S.*)"
)


class Parameter(NamedTuple):
    """One parameter of a query.

    Attributes:
        type: One of TYPES.
        choices: The texts it may be; empty if free.
        is_required: Whether it has no default.
        default: Text of the default; None for NULL and where there is none.
        doc: What it means.
    """

    name: str
    type: str
    choices: tuple[str, ...]
    is_required: bool
    default: str | None
    doc: str


class Column(NamedTuple):
    """One column of a result: name, one of TYPES, and meaning with unit and polarity."""

    name: str
    type: str
    doc: str


class Header(NamedTuple):
    """What a .sql file says about itself.

    Attributes:
        name: Name of the query or view, equal to the file's.
        purpose: One sentence.
        description: Further paragraphs, joined by empty lines; '' without any.
        params: Parameters, in the file's order.
        columns: Columns of the result, in order.
    """

    name: str
    purpose: str
    description: str
    params: tuple[Parameter, ...]
    columns: tuple[Column, ...]


class _Entry(NamedTuple):
    place: str
    match: re.Match[str]


def parse_header(text: str, path: str) -> Header:
    """Header at the start of a .sql file's text; `path` only names the file in errors.

    Raises:
        HeaderError: The header is missing or malformed; says file and line.
    """
    lines = [line[2:].strip("\n")[1:].rstrip() for line in _comment_lines(text)]
    title = _TITLE.fullmatch(lines[0]) if lines else None
    if title is None:
        raise HeaderError(f"{path}:1", "wanted '-- name: Purpose.'")
    starts = [number for number, line in enumerate(lines) if line in _SECTIONS]
    end = starts[0] if starts else len(lines)
    sections = {
        lines[start]: list(_entries(lines, start + 1, stop, path))
        for start, stop in pairwise([*starts, len(lines)])
    }
    if "columns:" not in sections:
        raise HeaderError(f"{path}:{len(lines)}", "wanted a section '-- columns:'")
    return Header(
        name=title[1],
        purpose=title[2],
        description=_paragraphs(lines[1:end]),
        params=tuple(_parameter(entry) for entry in sections.get("params:", ())),
        columns=tuple(_column(entry) for entry in sections["columns:"]),
    )


def _comment_lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if not line.startswith("--"):
            return
        yield line


def _paragraphs(lines: Sequence[str]) -> str:
    paragraphs = "\n".join(lines).strip("\n").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _entries(lines: Sequence[str], start: int, stop: int, path: str) -> Iterator[_Entry]:
    numbers = [n for n in range(start, stop) if _indent(lines[n]) <= _ENTRY_INDENT and lines[n]]
    names: set[str] = set()
    for number, following in pairwise([*numbers, stop]):
        place = f"{path}:{number + 1}"
        match = _ENTRY.fullmatch(" ".join(" ".join(lines[number:following]).split()))
        if match is None:
            raise HeaderError(place, "wanted '--   name TYPE [= default] meaning'")
        if match["type"] not in TYPES:
            raise HeaderError(place, f"type {match['type']}, wanted one of {', '.join(TYPES)}")
        if match["name"] in names:
            raise HeaderError(place, f"{match['name']} is there twice")
        names.add(match["name"])
        yield _Entry(place, match)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _parameter(entry: _Entry) -> Parameter:
    match = entry.match
    choices = tuple(match["choices"].split("|")) if match["choices"] else ()
    default = match["text"] if match["word"] in {None, "NULL"} else match["word"]
    if choices and default is not None and default not in choices:
        raise HeaderError(entry.place, f"default {default} is not one of {', '.join(choices)}")
    is_required = match["text"] is None and match["word"] is None
    return Parameter(match["name"], match["type"], choices, is_required, default, match["doc"])


def _column(entry: _Entry) -> Column:
    match = entry.match
    if match["text"] is not None or match["word"] is not None:
        raise HeaderError(entry.place, "a column has no default")
    return Column(match["name"], match["type"], match["doc"])
