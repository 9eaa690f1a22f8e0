"""The CTEs of a statement of ours, told apart by its text; pure."""

from __future__ import annotations

import re
from typing import NamedTuple

_SILENT = re.compile(r"'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/", re.DOTALL)
_LOUD = re.compile(r"'(?:[^']|'')*'|[()]")  # parentheses, and strings that may hold some
_FIRST = re.compile(r"\s*WITH\s+(?!RECURSIVE\b)(?=\w+\s+AS\s*\()")
_NAME = re.compile(r"\s*,?\s*(\w+)\s+AS\s*\(")


class Cte(NamedTuple):
    """One CTE: its name, and the SELECT that it stands for."""

    name: str
    sql: str


class Statement(NamedTuple):
    """A SELECT with its CTEs in front, in the order in which they are written.

    Attributes:
        ctes: The CTEs; each may have CTEs of its own.
        body: The SELECT that reads them.
    """

    ctes: tuple[Cte, ...]
    body: str


def split_ctes(sql: str) -> Statement:
    """A statement taken apart; one WITH RECURSIVE is left whole.

    >>> split_ctes("WITH a AS (SELECT 1), b AS (SELECT 2) SELECT 3")
    Statement(ctes=(Cte(name='a', sql='SELECT 1'), Cte(name='b', sql='SELECT 2')), body='SELECT 3')
    """
    text = _without_comments(sql)
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
    """How often a name stands in the CTEs behind the one of that name, and in the body."""
    names = [cte.name for cte in statement.ctes]
    behind = statement.ctes[names.index(name) + 1 :]
    word = re.compile(rf"\b(?:FROM|JOIN)\s+{name}\b")
    return sum(len(word.findall(text)) for text in (*(cte.sql for cte in behind), statement.body))


def _without_comments(sql: str) -> str:
    return _SILENT.sub(lambda match: match[0] if match[0][0] == "'" else " ", sql)


def closing_place(text: str, start: int = 0) -> int:
    """Where the parenthesis closes that was opened before `start`; the end if none does."""
    depth = 1
    for match in _LOUD.finditer(text, start):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if not depth:
            return match.start()
    return len(text)
