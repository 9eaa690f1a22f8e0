"""Tables on standard output: for people as text, for programs as JSON, CSV, Arrow or Parquet."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING

from cli.values import plain_rows

if TYPE_CHECKING:
    import pyarrow as pa


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


class OutputError(Exception):
    """A table cannot be printed: standard output is full, or the format cannot hold it."""


def write_table(table: pa.Table, format_: Format) -> None:
    """Print a table in a format; `arrow` is an IPC stream, `json` a list of one object per row.

    Numbers are exact in every format but `table`. In CSV and TSV null and the empty text are both
    empty, and nested values are JSON. A name that JSON would need twice in an object raises
    OutputError, as does an output that cannot be written.
    """
    with _translated_errors():
        match format_:
            case Format.TABLE:
                _write_text(table)
            case Format.JSON:
                _write_json(table)
            case Format.CSV:
                _write_csv(table, ",")
            case Format.TSV:
                _write_csv(table, "\t")
            case Format.ARROW:
                _write_arrow(table)
            case Format.PARQUET:
                _write_parquet(table)
        sys.stdout.flush()


def write_document(document: object) -> None:
    """Print a value as one line of JSON; raises OutputError if it cannot be written."""
    with _translated_errors():
        sys.stdout.write(json.dumps(document, ensure_ascii=False, allow_nan=False) + "\n")
        sys.stdout.flush()


def write_lines(lines: Iterable[str]) -> None:
    """Print lines of text, control characters escaped; raises OutputError if that fails."""
    from cli.text import printable

    with _translated_errors():
        sys.stdout.writelines(f"{printable(line)}\n" for line in lines)
        sys.stdout.flush()


@contextmanager
def _translated_errors() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:  # the reader has seen enough, which is no error
        raise
    except OSError as error:
        # Python flushes standard output once more at exit, which must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise OutputError(f"standard output: {error.strerror}; the output is incomplete") from error


def _write_text(table: pa.Table) -> None:
    if sys.stdout.isatty():
        from cli.terminal import print_table

        print_table(table)
    else:
        from cli.text import text_lines

        sys.stdout.writelines(f"{line}\n" for line in text_lines(table))


def _write_json(table: pa.Table) -> None:
    names = table.column_names
    for name in names:
        if names.count(name) > 1:
            raise OutputError(f"json: two columns are called '{name}'; tell them apart with AS")
    start = "["
    for row in plain_rows(table):
        text = json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False)
        sys.stdout.write(f"{start}\n{text}")
        start = ","
    sys.stdout.write("\n]\n" if table.num_rows else "[]\n")


def _write_csv(table: pa.Table, delimiter: str) -> None:
    writer = csv.writer(sys.stdout, delimiter=delimiter, lineterminator="\n")
    writer.writerow(table.column_names)
    for row in plain_rows(table):
        writer.writerow([_csv_value(value) for value in row])


def _csv_value(value: object) -> object:
    if isinstance(value, bool | list | dict):
        return json.dumps(value, ensure_ascii=False)
    return value


def _write_arrow(table: pa.Table) -> None:
    import pyarrow as pa

    with pa.ipc.new_stream(sys.stdout.buffer, table.schema) as stream:
        stream.write_table(table)


def _write_parquet(table: pa.Table) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()  # Parquet asks for positions, which a pipe has not
    pq.write_table(table, sink, compression="zstd")
    sys.stdout.buffer.write(sink.getvalue())
