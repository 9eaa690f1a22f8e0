"""Tables on standard output: for people as text, for programs as JSON, CSV, Arrow or Parquet."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from enum import StrEnum
from itertools import chain
from types import SimpleNamespace
from typing import TYPE_CHECKING

from cli.errors import OutputError, UnfitColumnError
from cli.output.streams import translated_errors
from cli.output.values import plain_rows
from queries.printable import json_text, printable

if TYPE_CHECKING:
    import pyarrow as pa

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


class Format(StrEnum):
    """Forms in which a table is printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    TSV = "tsv"
    ARROW = "arrow"
    PARQUET = "parquet"

    @property
    def is_binary(self) -> bool:
        """Whether a terminal cannot show it."""
        return self in (Format.ARROW, Format.PARQUET)


def write_table(table: pa.Table, format_: Format, *, is_csv_safe: bool = False) -> None:
    """Print a table in a format; `arrow` is an IPC stream, `json` a list of one object per row.

    Numbers are exact in every format but `table`, which also cuts long texts. In CSV and TSV null
    and the empty text are both empty, and nested values are JSON; on a terminal control characters
    are escaped, and `is_csv_safe` puts ' before texts that a spreadsheet would run. A name that
    JSON would need twice in an object raises OutputError, as does a value that the format cannot
    hold and an output that cannot be written.
    """
    with translated_errors():
        match format_:
            case Format.TABLE:
                _write_text(table)
            case Format.JSON:
                _write_json(table)
            case Format.CSV:
                _write_csv(table, ",", is_safe=is_csv_safe)
            case Format.TSV:
                _write_csv(table, "\t", is_safe=is_csv_safe)
            case Format.ARROW:
                _write_arrow(table)
            case Format.PARQUET:
                _write_parquet(table)
        sys.stdout.flush()


def write_document(document: object) -> None:
    """Print a value as one line of JSON; raises OutputError if it cannot be written."""
    with translated_errors():
        sys.stdout.write(json_text(document) + "\n")
        sys.stdout.flush()


def _write_text(table: pa.Table) -> None:
    if sys.stdout.isatty():
        from cli.output.terminal import print_table

        print_table(table)
    else:
        from cli.output.text import text_lines

        sys.stdout.writelines(f"{line}\n" for line in text_lines(table))


def _write_json(table: pa.Table) -> None:
    names = table.column_names
    for name in names:
        if names.count(name) > 1:
            raise OutputError(f"json: two columns are called '{name}'; tell them apart with AS")
    start = "["
    for row in plain_rows(table):
        sys.stdout.write(f"{start}\n{json_text(dict(zip(names, row, strict=True)))}")
        start = ","
    sys.stdout.write("\n]\n" if table.num_rows else "[]\n")


def _write_csv(table: pa.Table, delimiter: str, *, is_safe: bool) -> None:
    sys.stdout.writelines(_csv_lines(table, delimiter, is_safe, is_shown=sys.stdout.isatty()))


def _csv_lines(table: pa.Table, delimiter: str, is_safe: bool, *, is_shown: bool) -> Iterator[str]:
    lines: list[str] = []
    # Carriage returns are quoted only where lines end in them.
    writer = csv.writer(SimpleNamespace(write=lines.append), delimiter=delimiter)
    for row in chain([table.column_names], plain_rows(table)):
        cells = [json_text(v) if isinstance(v, bool | list | dict) else v for v in row]
        if is_safe:
            cells = [_quoted_formula(v) if isinstance(v, str) else v for v in cells]
        if is_shown:
            cells = [printable(v) if isinstance(v, str) else v for v in cells]
        writer.writerow(cells)
        yield lines.pop()[:-2] + "\n"


def _quoted_formula(text: str) -> str:
    is_formula = text.startswith(_FORMULA_STARTS) and text != "-Infinity"  # which is a number
    return f"'{text}" if is_formula else text


def _write_arrow(table: pa.Table) -> None:
    import pyarrow as pa

    with pa.ipc.new_stream(sys.stdout.buffer, table.schema) as stream:
        stream.write_table(table)


def _write_parquet(table: pa.Table) -> None:
    sys.stdout.buffer.write(_parquet(table))


def _parquet(table: pa.Table) -> pa.Buffer:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()  # Parquet asks for positions, which a pipe has not
    try:
        pq.write_table(table, sink, compression="zstd")
    except pa.ArrowException as error:
        if table.num_columns > 1:
            for i in range(table.num_columns):  # to name the one at fault
                _parquet(table.select([i]))
        raise UnfitColumnError("parquet", table.column_names[0], error) from error
    return sink.getvalue()
