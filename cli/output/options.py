"""The options that say how a command prints its rows."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

import typer

from tracehouse.cli.help import OUTPUT
from tracehouse.cli.output.output_file import form_of_file, standard_output_to
from tracehouse.cli.output.render import Format, write_table
from tracehouse.cli.output.streams import write_note

if TYPE_CHECKING:
    import pyarrow as pa

    from tracehouse.queries.formats import Rows

_ENDINGS = {
    **{f".{format_}": format_ for format_ in Format if format_ not in (Format.TABLE, "markdown")},
    ".md": Format.MARKDOWN,
    ".txt": Format.TABLE,
}
RowFormat = Annotated[
    Format,
    typer.Option(
        "--format",
        metavar="|".join(Format),
        help="Output format; only those for people round numbers.",
        rich_help_panel=OUTPUT,
    ),
]
CsvSafe = Annotated[
    bool,
    typer.Option(
        "--csv-safe",
        help="In CSV and TSV, put ' before texts that start with = + - @, a tab or a line break, "
        "so that a spreadsheet does not run them as formulas.",
        rich_help_panel=OUTPUT,
    ),
]
OutputFile = Annotated[
    Path | None,
    typer.Option(
        "--output",
        metavar="FILE",
        help="Write to FILE, which is replaced once the output is complete; its ending selects the "
        "format.",
        rich_help_panel=OUTPUT,
    ),
]


@dataclass(frozen=True)
class OutputOptions:
    """How a command prints its rows; a file takes the place of standard output."""

    format: RowFormat = Format.TABLE
    is_csv_safe: CsvSafe = False
    output_file: OutputFile = None

    def write(self, table: Rows, *, query: str = "", has_all: bool = False) -> None:
        """Print rows; see `write_table`."""
        safe = self.is_csv_safe
        write_table(table, self.format, query=query, is_csv_safe=safe, has_all=has_all)

    def write_rows(
        self, rows: Iterable[Mapping[str, object]], schema: pa.Schema | None = None
    ) -> None:
        """Print rows; without a schema, the first row names the columns."""
        import pyarrow as pa

        self.write(pa.Table.from_pylist(list(rows), schema))

    @contextmanager
    def opened(self) -> Iterator[Self]:
        """Redirect standard output to the file, if any; yields these options with its format."""
        file, chosen = self.output_file, self.format
        if file is not None and chosen is Format.TABLE:
            chosen = form_of_file(file, _ENDINGS, Format.TABLE)
        check_format(chosen, is_to_file=file is not None)
        with standard_output_to(file):
            yield replace(self, format=chosen)
        if file is not None and chosen is Format.TABLE:
            write_note(
                f"note: {file} is a table for people, with rounded numbers; for another format use "
                f"--format or a name that ends in {', '.join(_ENDINGS)}"
            )


def check_format(value: Format, *, is_to_file: bool) -> None:
    """Refuse to print a binary format on a terminal.

    Raises:
        BadParameter: The format is binary and standard output is a terminal.
    """
    if value.is_binary and not is_to_file and sys.stdout.isatty():
        raise typer.BadParameter(
            f"{value} is binary; send it to a file or pipe: > FILE.{value}", param_hint="'--format'"
        )
