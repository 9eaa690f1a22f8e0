"""The output of a comparison of two builds: a summary in words, then the changed rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.output.options import OutputOptions
from cli.output.render import Format, write_table_note
from cli.output.streams import write_lines

if TYPE_CHECKING:
    import pyarrow as pa


def write_comparison(table: pa.Table, options: OutputOptions, *, base: str, head: str) -> None:
    """Print the rows of the query `comparison`; for people, a summary and the changed rows."""
    from queries.comparison import changed_rows, summary_lines

    if options.format is Format.TABLE:
        lines = summary_lines(table, base=base, head=head)
        table = changed_rows(table)
        write_lines([*lines, ""] if len(table) else lines)
    if len(table) or options.format is not Format.TABLE:
        options.write(table)
    else:
        write_table_note(table)
