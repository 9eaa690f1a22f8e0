"""The CTEs of a statement, split by its text; pure."""

from __future__ import annotations

import re
from typing import NamedTuple

_STRING_OR_COMMENT = re.compile(r"'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/", re.DOTALL)
_STRING_OR_PARENTHESIS = re.compile(r"'(?:[^']|'')*'|[()]")
_FIRST = re.compile(r"\s*WITH\s+(?!RECURSIVE\b)(?=\w+\s+AS\s*\()")
_NAME = re.compile(r"\s*,?\s*(\w+)\s+AS\s*\(")


class Cte(NamedTuple):
    """One CTE: its name and its SELECT."""

    name: str
    sql: str


class Statement(NamedTuple):
    """A SELECT and its CTEs, which may contain CTEs, in the order of the text."""

    ctes: tuple[Cte, ...]
    body: str


def split_ctes(sql: str) -> Statement:
    """A statement split into CTEs and body; a statement WITH RECURSIVE consists of its body only.

    >>> split_ctes("WITH a AS (SELECT 1), b AS (SELECT 2) SELECT 3")
    Statement(ctes=(Cte(name='a', sql='SELECT 1'), Cte(name='b', sql='SELECT 2')), body='SELECT 3')
    """
    text = _STRING_OR_COMMENT.sub(lambda match: match[0] if match[0][0] == "'" else " ", sql)
    first = _FIRST.match(text)
    if first is None:
        return Statement((), text.strip())
    ctes, position = [], first.end()
    while name := _NAME.match(text, position):
        end = closing_place(text, name.end())
        ctes.append(Cte(name[1], text[name.end() : end].strip()))
        position = end + 1
        if text[position:].lstrip()[:1] != ",":
            break
    return Statement(tuple(ctes), text[position:].strip())


def count_uses(name: str, statement: Statement) -> int:
    """How often the body and the later CTEs read the CTE `name`."""
    names = [cte.name for cte in statement.ctes]
    later = statement.ctes[names.index(name) + 1 :]
    word = re.compile(rf"\b(?:FROM|JOIN)\s+{name}\b")
    return sum(len(word.findall(text)) for text in (*(cte.sql for cte in later), statement.body))


def closing_place(text: str, start: int = 0) -> int:
    """Index of the parenthesis that closes the one opened before `start`; else the text's end."""
    depth = 1
    for match in _STRING_OR_PARENTHESIS.finditer(text, start):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if not depth:
            return match.start()
    return len(text)
