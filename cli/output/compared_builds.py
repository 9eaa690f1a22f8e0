"""The output of a comparison of two builds: a sentence, changes, what methods gained or lost."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tracehouse.cli.output.options import OutputOptions
from tracehouse.cli.output.render import Format
from tracehouse.cli.output.streams import output_errors, write_lines, write_note, write_text

if TYPE_CHECKING:
    import pyarrow as pa

    from tracehouse.queries.comparison import Comparison
    from tracehouse.queries.report.parts import Breakdown
    from tracehouse.queries.report.terminal import Line
    from tracehouse.warehouse.queryable import Queryable


def write_comparison(  # noqa: PLR0913 - what is compared, and how it is shown
    store: Queryable,
    table: pa.Table,
    options: OutputOptions,
    *,
    base: str,
    head: str,
    obstacle: str | None = None,
    is_all: bool = False,
) -> None:
    """Print the rows of the query `comparison` of a store.

    For people, it is a sentence, the changes, and what those of the costliest methods consist of;
    `is_all` lists what did not change, too. `obstacle` is why nothing can be compared, if so.
    """
    from tracehouse.queries.comparison import comparison_html, comparison_markdown, describe_pair

    if options.format not in (Format.TABLE, "markdown", "html"):
        options.write(table)
        return
    found = describe_pair(table.to_pylist(), base=base, head=head, obstacle=obstacle)
    if options.format == "html":
        write_text(comparison_html(found, base=base, head=head))
    elif options.format == "markdown":
        write_text(comparison_markdown(found))
    else:
        sums = [] if obstacle else _break_down(store, table, base=base, head=head)
        _write_lines(found, sums, is_all=is_all)
        for note in found.notes:
            write_note(f"note: {note}")


def write_styled(lines: Iterable[Line]) -> None:
    """Print lines in their styles on a terminal; raises OutputError if that fails."""
    from rich.console import Console
    from rich.text import Text

    with output_errors():
        console = Console(highlight=False)
        for line in lines:
            console.print(Text.assemble(*line), soft_wrap=True)


def _write_lines(found: Comparison, sums: list[Breakdown], *, is_all: bool) -> None:
    from tracehouse.queries.comparison import comparison_lines, plain_comparison
    from tracehouse.queries.report.terminal import ascii_text, sum_lines

    if sys.stdout.isatty():
        from rich.console import Console

        width = Console().width
        write_styled(comparison_lines(found, is_all=is_all, width=width))
        write_lines(sum_lines(sums))
    else:
        write_lines(plain_comparison(found, is_all=is_all))
        write_lines(map(ascii_text, sum_lines(sums)))


def _break_down(store: Queryable, table: pa.Table, *, base: str, head: str) -> list[Breakdown]:
    from tracehouse.queries.report.breakdowns import PairBreakdowns

    pair = PairBreakdowns(store, table.to_pylist(), base=base, head=head)
    return pair.of_changed_methods()
