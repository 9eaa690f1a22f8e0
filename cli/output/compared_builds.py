"""The output of a comparison of two builds: in words, what methods gained or lost, changed rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracehouse.cli.output.options import OutputOptions
from tracehouse.cli.output.render import Format, write_table_note
from tracehouse.cli.output.streams import write_lines

if TYPE_CHECKING:
    import pyarrow as pa

    from tracehouse.queries.report.breakdown import Breakdown
    from tracehouse.warehouse.queryable import Queryable


def write_comparison(
    store: Queryable, table: pa.Table, options: OutputOptions, *, base: str, head: str
) -> None:
    """Print the rows of the query `comparison` of a store.

    For people, it is a summary, what the changes of the costliest methods consist of, and the
    changed rows.
    """
    from tracehouse.queries.comparison import changed_rows, summary_lines
    from tracehouse.queries.report.text_table import sum_lines

    if options.format is Format.TABLE:
        lines = summary_lines(table, base=base, head=head)
        lines += sum_lines(_break_down(store, table, base=base, head=head))
        table = changed_rows(table)
        write_lines([*lines, ""] if len(table) else lines)
    if len(table) or options.format is not Format.TABLE:
        options.write(table)
    else:
        write_table_note(table)


def _break_down(store: Queryable, table: pa.Table, *, base: str, head: str) -> list[Breakdown]:
    from tracehouse.queries.report.pair_breakdowns import PairBreakdowns

    pair = PairBreakdowns(store, table.to_pylist(), base=base, head=head)
    return pair.of_changed_methods()
