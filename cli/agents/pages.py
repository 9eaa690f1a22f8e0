"""Pages of answers for agents: a summary, and as many lines as fit into a limit. Pure.

Names come from files that anybody may have written. They stand in a block that no line of it can
end, or outside of it in quotes that no name can end, so that they stay data.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from io import StringIO
from typing import Any, NamedTuple

import pyarrow as pa

from tracehouse.queries.printable import json_text, printable, shorten
from tracehouse.warehouse.errors import QueryError

# A token of names and numbers has two bytes or more, so a page has at most 5,000 tokens.
MOST_BYTES = 10_000
_MOST_CELL = 300  # characters
_DIGITS = 6  # a number that is not whole has no more: they would fill half of a page
_LONG = 1e18  # longer whole numbers are written with an exponent
ROUNDING = (
    f"Numbers that are not whole are rounded to {_DIGITS} digits, or to a whole number if that has "
    "more; sql has all digits of a column that it casts to VARCHAR."
)
_VERDICTS = ("verdict", "state", "status", "reason")  # columns whose values a summary counts
_MOST_EQUAL = 60  # characters of a value that is said once for all rows
_FEW_ROWS = 3  # all columns of fewer rows are shown
_RESERVED_BYTES = 300  # for the line that says which lines a page has
_CURSOR = re.compile(r"([0-9]{1,18})\.(.+)")
_WORD = re.compile(r"\w{1,40}", re.ASCII)  # which says nothing by itself
_PLAIN = (bool, int, float, Decimal, date, time, timedelta)


class Cursor(NamedTuple):
    """Where a page begins: a line, and the answer that it is a line of."""

    first: int
    digest: str

    @classmethod
    def parse(cls, text: str | None) -> Cursor | None:
        """The cursor in an argument of an agent; None for the first page.

        Raises:
            QueryError: The text is not a cursor.
        """
        if not text:
            return None
        found = _CURSOR.fullmatch(str(text))
        if not found:
            raise QueryError(f"cursor {text!r}: wanted the cursor of an earlier answer")
        return cls(int(found[1]), found[2])


class Answer(NamedTuple):
    """An answer, line by line.

    Attributes:
        summary: What the answer is, and what it says.
        kind: Kind of the lines, in the words of fenced blocks.
        heading: A line that stands on every page; may be ''.
        n_lines: How many lines there are.
        lines: The lines from one on.
        digest: Differs for another answer.
        following: What to ask next; may be ''.
    """

    summary: str
    kind: str
    heading: str
    n_lines: int
    lines: Callable[[int], Iterator[str]]
    digest: str
    following: str = ""

    def page(self, cursor: Cursor | None) -> str:
        """The page at a cursor.

        Raises:
            QueryError: There is no such page.
        """
        first = cursor.first if cursor else 0
        if first and first >= self.n_lines:
            raise QueryError(f"cursor: the answer has only {self.n_lines:,} lines")
        parts = [self.summary]
        if cursor and cursor.digest != self.digest:
            parts[0] = f"The answer has changed since the page before. {self.summary}"
        fixed = "\n".join([*parts, self.heading, self.following])
        room = MOST_BYTES - _RESERVED_BYTES - len(fixed.encode())
        taken = _take(self.lines(first), room)
        last = first + len(taken)
        if self.n_lines:
            shown = f"Lines {first + 1:,} to {last:,} of {self.n_lines:,}."
            if last < self.n_lines:
                shown += f' For the next ones, ask again with cursor="{last}.{self.digest}".'
            headed = [self.heading] if self.heading else []
            parts += [shown, f"```{self.kind}", *headed, *taken, "```"]
        return "\n".join([*parts, *([self.following] if self.following else [])])


def table_answer(purpose: str, table: pa.Table, *, following: str = "") -> Answer:
    """The rows of a table as CSV, with long texts cut."""
    parts = [purpose, f"{table.num_rows:,} rows." if table.num_rows else "No rows."]
    for name in _VERDICTS:
        if table.num_rows and name in table.column_names:
            parts.append(f"By {name}: {_counts(table[name])}.")
    if note := _cell((table.schema.metadata or {}).get(b"note", b"").decode()):
        parts.append(f"Note: {note}.")
    digest = _digest(table.to_batches())
    table, shared = _without_equal(table)
    return Answer(
        summary=cut(" ".join([*parts, *shared]), MOST_BYTES // 3),
        kind="csv",
        heading=cut(_line(list(map(_cell, table.column_names))), MOST_BYTES // 3),
        n_lines=table.num_rows,
        lines=lambda first: _rows(table, first),
        digest=digest,
        following=following,
    )


def text_answer(purpose: str, text: str, *, following: str = "") -> Answer:
    """The lines of a text in Markdown."""
    lines = [_inside(line) for line in text.splitlines()]
    return Answer(
        summary=purpose,
        kind="markdown",
        heading="",
        n_lines=len(lines),
        lines=lambda first: iter(lines[first:]),
        digest=hashlib.sha256(text.encode()).hexdigest()[:8],
        following=following,
    )


def error_page(problem: str) -> str:
    """The page of a call that failed; an error may name what the store has."""
    line = _inside(cut(printable(problem), MOST_BYTES - _RESERVED_BYTES))
    return f"The call failed:\n```text\n{line}\n```"


def cut(text: str, most_bytes: int) -> str:
    """The text, or its beginning with an ellipsis."""
    data = text.encode()
    if len(data) <= most_bytes:
        return text
    return data[: most_bytes - 4].decode(errors="ignore") + " ..."


def _without_equal(table: pa.Table) -> tuple[pa.Table, list[str]]:
    """A table without the columns that have one value in all rows, and sentences with those.

    The sentences stand outside of the block, so texts are quoted.
    """
    if table.num_rows < _FEW_ROWS:
        return table, []
    equal = {}
    for name in table.column_names:
        column = table[name]
        if not pa.types.is_nested(column.type) and len(values := column.unique()) == 1:
            value = values[0].as_py()
            shown = "" if value in (None, "") else _quote(value)
            if len(shown) <= _MOST_EQUAL:
                equal[name] = shown
    empty = ", ".join(_word(name) for name, value in equal.items() if not value)
    full = ", ".join(f"{_word(name)} = {value}" for name, value in equal.items() if value)
    sentences = [f"In all rows: {full}."] * bool(full) + [f"Empty: {empty}."] * bool(empty)
    kept = table.drop_columns(list(equal))
    return (kept, sentences) if kept.num_columns else (table, [])


def _take(lines: Iterator[str], room: int) -> list[str]:
    """The lines that fit; the first one is cut, if need be."""
    taken: list[str] = []
    for line in lines:
        size = len(line.encode()) + 1
        if size > room:
            if not taken:
                taken.append(cut(line, room))
            break
        taken.append(line)
        room -= size
    return taken


def _rows(table: pa.Table, first: int) -> Iterator[str]:
    for batch in table.slice(first).to_batches(max_chunksize=256):
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield _line([_cell(value) for value in row])


def _line(cells: Sequence[str]) -> str:
    written = StringIO()
    csv.writer(written, lineterminator="").writerow(cells)
    line = written.getvalue()
    if not line.startswith("`"):
        return line
    return f'"{cells[0]}"{line[len(cells[0]) :]}'  # lest it looks like the end of the block


def _inside(line: str) -> str:
    """The line, which does not look like the end of the block that it stands in."""
    return f"\\{line}" if line.lstrip().startswith("```") else line


def _quote(value: Any) -> str:
    """A value outside of a block: a text is in quotes."""
    return _cell(value) if value is None or isinstance(value, _PLAIN) else json_text(str(value))


def _word(text: str) -> str:
    """A text outside of a block: in quotes, unless it is one word."""
    return text if _WORD.fullmatch(text) else json_text(text)


def _number(value: float) -> str:
    if value.is_integer():
        return f"{value:.0f}" if abs(value) < _LONG else repr(value)
    return f"{value:.0f}" if abs(value) >= 10**_DIGITS else f"{value:.{_DIGITS}g}"


def _cell(value: Any) -> str:
    """A value as text: numbers as `ROUNDING` says, times as in ISO 8601."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, dict | list):
        value = json.dumps(value, default=str)
    return printable(shorten(" ".join(str(value).split()), _MOST_CELL))


def _counts(column: pa.ChunkedArray) -> str:
    counts = Counter(column.to_pylist())
    most = counts.most_common(12)
    return ", ".join(
        f"{number:,} {'null' if value is None else _word(_cell(value))}" for value, number in most
    )


def _digest(batches: Sequence[pa.RecordBatch]) -> str:
    found = hashlib.sha256()
    for batch in batches:
        found.update(batch.serialize())
    return found.hexdigest()[:8]
