"""The header of a .sql file, which documents it: text -> values, no engine.

A header is the block of `--` lines at the start of a file::

    -- name: Purpose in one sentence.
    --
    -- Details for readers, in paragraphs.
    --
    -- params:
    --   event   STRING              Required, because it has no default.
    --   scope   STRING(run|all) = 'run'   One of the texts in brackets.
    --   q       SHARE(0..1) = 0.01        From 0 to 1; either limit may be omitted.
    --   until   TIMESTAMP(>since) = NULL  Later than another parameter; <> means different.
    --   device  STRING[] OF devices.name = NULL   One or several names in a column of
    --                               the store; this line continues.
    --
    -- filters: chosen_dumps without build
    --
    -- parts: operators AS measured, verdicts
    --
    -- portions: device
    --
    -- next: run_timeline
    --
    -- columns:
    --   device, model, run
    --   total_ns  BIGINT          Name, type, and meaning with unit.
    --   delta     DOUBLE(change)  A unit that the name does not end in.

Columns and parameters that many files share are listed by name alone; sql/glossary.sql has their
types and meanings.

`filters` names a file of sql/filters. The file inherits its parameters, except those after
`without`. `parts` names files of sql/parts, which become CTEs before the query's text in that
order, each under its own name or the name after AS. The file inherits their parameters, too. By the
column after `portions`, device or model, a long answer is split (`portions.py`). `next` names the
queries whose answers explain this one's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise, takewhile
from typing import NamedTuple

from tracehouse.warehouse.errors import HeaderError

TYPES = ("STRING", "INT", "BIGINT", "DOUBLE", "BOOLEAN", "TIMESTAMP", "STRUCT")
PARAMETER_TYPES = (*TYPES, "SHARE", "STRING[]", "TAG[]", "TAG_KEY", "PLACE[]")
# A change is relative, and has a sign; `unit` is what the column of that name says in each row.
UNITS = ("ns", "bytes", "share", "change", "unit")
_ENDINGS = ("ns", "bytes", "share")

_TITLE = re.compile(r"(\w+): +(\S.*)")
_FILTERS = re.compile(r"filters: (?P<name>\w+)(?: without (?P<without>[\w, ]+))?")
_PARTS = re.compile(r"parts: (\w+(?: AS \w+)?(?:, \w+(?: AS \w+)?)*)")
_PORTIONS = re.compile(r"portions: (device|model)")
_FOLLOWING = re.compile(r"next: (\w+(?:, \w+)*)")
_SECTIONS = (re.compile("params:|columns:"), _FILTERS, _PARTS, _PORTIONS, _FOLLOWING)
_ENTRY_INDENT = 2
_NAMES = re.compile(r"\w+(, \w+)*,?")
_ENTRY = re.compile(
    r"(?P<name>\w+) +(?P<type>\w+(?:\[\])?)(?:\((?P<limits>[^)]*)\))?"
    r"(?: +OF +(?P<table>\w+)\.(?P<column>\w+))?"
    r"(?: += +(?:'(?P<text>[^']*)'|(?P<word>\S+)))? +(?P<doc>\S.*)"
)
_RANGE = re.compile(r"(?P<least>-?\d+)?\.\.(?P<most>-?\d+)?")
_RELATION = re.compile(r"(?P<is>>|<>)(?P<other>\w+)")


class Names(NamedTuple):
    """A column of the store with the names that a parameter may have."""

    table: str
    column: str


class Relation(NamedTuple):
    """A condition on two parameters: greater (`>`) than the other, or different (`<>`)."""

    sign: str
    other: str


class Parameter(NamedTuple):
    """One parameter of a query.

    Attributes:
        type: One of PARAMETER_TYPES. Types with [] take several values, and globs that match
            names; TAG is a text `key=value`, TAG_KEY the key of a tag or one of `choices`, SHARE a
            DOUBLE that may be written in percent, PLACE a text `device / model`, or with
            ` / backend`.
        choices: The allowed texts; empty if any text is allowed.
        is_required: Whether the parameter has no default.
        default: Text of the default; None for NULL or no default.
        doc: The meaning.
        least: The lowest allowed number; None without a bound.
        most: The highest allowed number; None without a bound.
        relation: A condition on another parameter.
        names: The column of the store with the allowed names.
    """

    name: str
    type: str
    choices: tuple[str, ...]
    is_required: bool
    default: str | None
    doc: str
    least: int | None = None
    most: int | None = None
    relation: Relation | None = None
    names: Names | None = None


class Column(NamedTuple):
    """One column of a result.

    Attributes:
        type: One of TYPES.
        doc: The meaning, with unit and polarity.
        unit: One of UNITS; empty for texts and for numbers with another unit or none.
    """

    name: str
    type: str
    doc: str
    unit: str = ""


class Filters(NamedTuple):
    """The file of sql/filters that a query reads, and which of its parameters are left out."""

    name: str
    without: tuple[str, ...]


class QueryPart(NamedTuple):
    """A file of sql/parts that a query reads, and its name in the query."""

    file: str
    name: str


class Header(NamedTuple):
    """The content of a header.

    Attributes:
        name: Name of the query or view, equal to the file's.
        purpose: One sentence.
        description: Further paragraphs, joined by empty lines; may be ''.
        params: Parameters, in the file's order.
        columns: Columns of the result, in order.
        filters: The filters of the query; None if it has none.
        parts: The parts; each reads only earlier parts.
        portions: The column by which a long answer is split; may be ''.
        following: Queries to ask next.
    """

    name: str
    purpose: str
    description: str
    params: tuple[Parameter, ...]
    columns: tuple[Column, ...]
    filters: Filters | None = None
    parts: tuple[QueryPart, ...] = ()
    portions: str = ""
    following: tuple[str, ...] = ()


class _Entry(NamedTuple):
    place: str
    match: re.Match[str]


def unit_of_name(name: str) -> str:
    """The unit that a column's name ends in; or empty.

    >>> unit_of_name("self_ns"), unit_of_name("tax_share"), unit_of_name("delta")
    ('ns', 'share', '')
    """
    ending = name.rpartition("_")[2]
    return ending if ending in _ENDINGS else ""


def parse_header(text: str, path: str) -> Header:
    """Header at the start of a .sql file's text; `path` names the file in errors.

    Raises:
        HeaderError: The header is missing or malformed; the error names file and line.
    """
    lines = _header_lines(text)
    title = _TITLE.fullmatch(lines[0]) if lines else None
    if title is None:
        raise HeaderError(f"{path}:1", "wanted '-- name: Purpose.'")
    starts = _section_starts(lines)
    end = starts[0] if starts else len(lines)
    sections = {
        lines[start]: list(_entries(lines, start, stop, path))
        for start, stop in pairwise([*starts, len(lines)])
    }
    if "columns:" not in sections:
        raise HeaderError(f"{path}:{len(lines)}", "wanted a section '-- columns:'")
    filters, portions, following = (
        [match for line in sections if (match := known.fullmatch(line))]
        for known in (_FILTERS, _PORTIONS, _FOLLOWING)
    )
    parts = [
        part for line in sections if (match := _PARTS.fullmatch(line)) for part in _parts(match)
    ]
    return Header(
        name=title[1],
        purpose=title[2],
        description=_paragraphs(lines[1:end]),
        params=tuple(_parameter(entry) for entry in sections.get("params:", ())),
        columns=tuple(_column(entry) for entry in sections["columns:"]),
        filters=_filters(filters[0]) if filters else None,
        parts=tuple(parts),
        portions=portions[0][1] if portions else "",
        following=tuple(following[0][1].split(", ")) if following else (),
    )


@cache
def _glossary() -> Mapping[tuple[str, str], re.Match[str]]:
    """The entries of sql/glossary.sql by section and name."""
    path = "glossary.sql"
    lines = _header_lines((files("tracehouse.sql") / path).read_text("utf-8"))
    return {
        (lines[start], entry.match["name"]): entry.match
        for start, stop in pairwise([*_section_starts(lines), len(lines)])
        for entry in _entries(lines, start, stop, path)
    }


def _header_lines(text: str) -> list[str]:
    comments = takewhile(lambda line: line.startswith("--"), text.splitlines())
    return [line[3:].rstrip() for line in comments]


def _section_starts(lines: Sequence[str]) -> list[int]:
    return [n for n, line in enumerate(lines) if any(one.fullmatch(line) for one in _SECTIONS)]


def _paragraphs(lines: Sequence[str]) -> str:
    paragraphs = "\n".join(lines).strip("\n").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _entries(lines: Sequence[str], title: int, stop: int, path: str) -> Iterator[_Entry]:
    numbers = [n for n in range(title + 1, stop) if _indent(lines[n]) <= _ENTRY_INDENT and lines[n]]
    names: set[str] = set()
    for number, following in pairwise([*numbers, stop]):
        place = f"{path}:{number + 1}"
        text = " ".join(" ".join(lines[number:following]).split())
        for match in _matches(text, lines[title], place):
            if match["type"] not in PARAMETER_TYPES:
                raise HeaderError(place, f"type {match['type']}, wanted one of {', '.join(TYPES)}")
            if match["name"] in names:
                raise HeaderError(place, f"{match['name']} occurs twice")
            names.add(match["name"])
            yield _Entry(place, match)


def _matches(text: str, section: str, place: str) -> Iterator[re.Match[str]]:
    """An entry, or those of the glossary that the text lists by name.

    Raises:
        HeaderError: It is neither.
    """
    listed = re.findall(r"\w+", text) if _NAMES.fullmatch(text) else []
    matches = [_glossary().get((section, name)) for name in listed] or [_ENTRY.fullmatch(text)]
    for match in matches:
        if match is None:
            wanted = "wanted '--   name TYPE [= default] meaning', or names in sql/glossary.sql"
            raise HeaderError(place, wanted)
        yield match


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _filters(match: re.Match[str]) -> Filters:
    return Filters(match["name"], tuple(re.findall(r"\w+", match["without"] or "")))


def _parts(match: re.Match[str]) -> Iterator[QueryPart]:
    for text in match[1].split(", "):
        file, _, name = text.partition(" AS ")
        yield QueryPart(file, name or file)


def _parameter(entry: _Entry) -> Parameter:
    match, limits = entry.match, entry.match["limits"] or ""
    range_, relation = _RANGE.fullmatch(limits), _RELATION.fullmatch(limits)
    choices = tuple(limits.split("|")) if limits and not (range_ or relation) else ()
    default = match["text"] if match["word"] in {None, "NULL"} else match["word"]
    if choices and default is not None and default not in choices:
        raise HeaderError(entry.place, f"default {default} is not one of {', '.join(choices)}")
    return Parameter(
        name=match["name"],
        type=match["type"],
        choices=choices,
        is_required=match["text"] is None and match["word"] is None,
        default=default,
        doc=match["doc"],
        least=int(range_["least"]) if range_ and range_["least"] else None,
        most=int(range_["most"]) if range_ and range_["most"] else None,
        relation=Relation(relation["is"], relation["other"]) if relation else None,
        names=Names(match["table"], match["column"]) if match["table"] else None,
    )


def _column(entry: _Entry) -> Column:
    match = entry.match
    if match["text"] is not None or match["word"] is not None:
        raise HeaderError(entry.place, "a column has no default")
    unit = match["limits"]
    if match["type"] not in TYPES or match["table"] or (unit and unit not in UNITS):
        wanted = f"one of {', '.join(TYPES)}, perhaps with ({'|'.join(UNITS)})"
        raise HeaderError(entry.place, f"wanted a type alone, {wanted}")
    return Column(match["name"], match["type"], match["doc"], unit or unit_of_name(match["name"]))
