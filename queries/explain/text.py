"""An explanation as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from tracehouse.queries.explain.content import Explanation, RunTimes
from tracehouse.queries.explain.wording import (
    frame_rows,
    heading,
    hidden_text,
    listings,
    run_heading,
)
from tracehouse.queries.report.figures import MAX_TEXT, name_text
from tracehouse.queries.report.terminal import sum_lines, table_lines

_WIDTH = 100


def plain_text(explanation: Explanation) -> str:
    """The explanation as text; the page and the JSON form have what is cut here."""
    return "".join(f"{line}\n" for line in _lines(explanation))


def _lines(explanation: Explanation) -> Iterator[str]:
    yield from _wrapped(heading(explanation))
    yield f"alert {explanation.group.id}, as of {name_text(explanation.as_of)}"
    yield ""
    for finding in explanation.findings:
        yield from _wrapped(name_text(finding, MAX_TEXT), "- ")
    if hidden := hidden_text(explanation):
        yield f"- {hidden}"
    for times in explanation.times:
        yield from sum_lines([times.breakdown])
        yield from ("", *_wrapped(f"Time by module of {run_heading(times)}"))
        yield from _tree(times)
    for table in listings(explanation):
        if table.rows:
            yield from ("", table.title)
            yield from table_lines(table.columns, table.rows, table.numbers)
    yield from ("", "Reproduce")
    yield from (f"  {command}" for command in explanation.commands)


def _tree(times: RunTimes) -> Iterator[str]:
    rows = [
        (
            f"{'  ' * row.depth}{'* ' if row.frame.is_member else ''}{name_text(row.frame.name)}",
            *row[2:],
        )
        for row in frame_rows(times)
    ]
    columns = ("", "Base", "Head", "Change", "")
    return table_lines(columns, rows, range(1, 4), most_cell=80)


def _wrapped(text: str, mark: str = "") -> list[str]:
    return wrap(
        text,
        _WIDTH,
        initial_indent=mark,
        subsequent_indent=" " * len(mark),
        break_on_hyphens=False,
        break_long_words=False,
    )
