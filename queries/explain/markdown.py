"""An explanation as Markdown, for an issue or a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracehouse.queries.explain.content import Explanation
from tracehouse.queries.explain.wording import frame_rows, heading, listings, run_heading
from tracehouse.queries.report.figures import name_text
from tracehouse.queries.report.markdown import code, cut_blocks, plain, sums_text, table_text

_MOST_ROWS = 40  # of a table
_INDENT = "\u2003"  # a space that Markdown keeps


def markdown_text(explanation: Explanation) -> str:
    """The explanation, cut with a note where it becomes too long for a comment."""
    return cut_blocks(_blocks(explanation))


def _blocks(explanation: Explanation) -> Iterator[str]:
    alert = f"Alert {code(explanation.group.id)}, as of {code(name_text(explanation.as_of))}."
    yield f"## {plain(heading(explanation))}\n\n{alert}\n\n"
    yield "".join(f"- {plain(finding)}\n" for finding in explanation.findings)
    commands = "".join(f"- {code(command)}\n" for command in explanation.commands)
    yield f"\n### Reproduce\n\n{commands}"
    for times in explanation.times:
        yield sums_text([times.breakdown])
        rows = [
            (
                f"{_INDENT * row.depth}{'**' * row.frame.is_member}{plain(row.frame.name)}"
                f"{'**' * row.frame.is_member}",
                *row[2:],
            )
            for row in frame_rows(times)
        ]
        columns = ("Part", "Base", "Head", "Change", "Relative change")
        yield _folded(f"Time by module of {run_heading(times)}", columns, range(1, 5), rows)
    for table in listings(explanation):
        if table.rows:
            cells = [tuple(map(plain, row)) for row in table.rows]
            yield _folded(table.title, table.columns, table.numbers, cells)


def _folded(
    title: str,
    columns: Sequence[str],
    numbers: Sequence[int] | frozenset[int],
    rows: Sequence[tuple[str, ...]],
) -> str:
    more = len(rows) - _MOST_ROWS
    rest = f"\n{more:,} more rows.\n" if more > 0 else ""
    return (
        f"\n<details><summary>{plain(title)}</summary>\n\n"
        f"{table_text(columns, numbers, rows[:_MOST_ROWS])}{rest}\n</details>\n"
    )
