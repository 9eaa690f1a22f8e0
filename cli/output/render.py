"""Tables on standard output, as text for people or in formats for programs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tracehouse.cli.output.streams import output_errors, write_note
from tracehouse.queries import formats
from tracehouse.queries.formats import Format

if TYPE_CHECKING:
    import pyarrow as pa

    from tracehouse.queries.formats import Rows

__all__ = ["Format", "write_document", "write_table", "write_table_note"]


def write_table(
    table: Rows,
    format_: Format,
    *,
    query: str = "",
    is_csv_safe: bool = False,
    has_all: bool = False,
) -> None:
    """Print rows in a format; `arrow` is an IPC stream, `json` a list of one object per row.

    The rows of a reader are printed while they are computed; only for people must they be a table.

    Numbers are exact in every format but those for people, which have units, those of the header of
    `query`; they also cut long texts and, unless `has_all`, name operators shortly, and leave out
    columns without a value. Control characters are escaped on a terminal, and
    `is_csv_safe` puts ' before texts that a spreadsheet would run.
    A table that the format cannot hold raises FormatError, an output that cannot be written
    OutputError. The table's notes go to standard error.
    """
    with output_errors():
        match format_:
            case Format.TABLE | Format.MARKDOWN | Format.HTML:
                _write_text(table, format_, query, has_all=has_all)
            case Format.JSON:
                formats.write_json(table, sys.stdout)
            case Format.CSV | Format.TSV:
                formats.write_csv(
                    table,
                    sys.stdout,
                    delimiter=formats.DELIMITERS[format_],
                    is_safe=is_csv_safe,
                    is_escaped=sys.stdout.isatty(),
                )
            case _:
                formats.write_encoded(table, format_, sys.stdout.buffer)
        sys.stdout.flush()
    write_table_note(table)


def write_table_note(table: Rows) -> None:
    """Print the notes of a table on standard error, one a line, if it has any."""
    notes = (table.schema.metadata or {}).get(b"note", b"")
    for note in notes.decode().splitlines():
        write_note(f"note: {note}")


def write_document(document: object) -> None:
    """Print a value as one line of JSON; raises OutputError if it cannot be written."""
    with output_errors():
        formats.write_document(document, sys.stdout)
        sys.stdout.flush()


def _write_text(table: pa.Table, format_: Format, query: str, *, has_all: bool) -> None:
    from tracehouse.cli.output.text import text_lines
    from tracehouse.queries.cell_tables import markdown_lines, page_lines
    from tracehouse.queries.cells import arrange_columns

    arranged = table if has_all else arrange_columns(table, query)
    if format_ is Format.TABLE and sys.stdout.isatty():
        from tracehouse.cli.output.terminal import print_table

        print_table(arranged, query)
        return
    lines_of = {Format.MARKDOWN: markdown_lines, Format.HTML: page_lines}.get(format_, text_lines)
    sys.stdout.writelines(f"{line}\n" for line in lines_of(arranged, query))
