"""The output of a comparison of two builds: a summary in words, then the changed rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.output.render import Format, write_table, write_table_note
from cli.output.streams import write_lines

if TYPE_CHECKING:
    import pyarrow as pa


def write_comparison(
    table: pa.Table, output: Format, *, base: str, head: str, is_csv_safe: bool
) -> None:
    """Print the rows of the query `comparison`; for people, a summary and the changed rows."""
    from queries.comparison import changed_rows, summary_lines

    if output is Format.TABLE:
        lines = summary_lines(table, base=base, head=head)
        table = changed_rows(table)
        write_lines([*lines, ""] if len(table) else lines)
    if len(table) or output is not Format.TABLE:
        write_table(table, output, is_csv_safe=is_csv_safe)
    else:
        write_table_note(table)
