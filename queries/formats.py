"""Writing tables as JSON, CSV, TSV, Arrow or Parquet.

JSON is the contract; docs/json.md defines how values are written. A value that a format cannot hold
raises FormatError; errors of the sink are passed on. Rows come from a table, or from a reader that
computes them meanwhile, of which a batch at a time is held.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from io import BytesIO, TextIOWrapper
from types import SimpleNamespace
from typing import IO, TYPE_CHECKING, TypeAlias

from tracehouse.queries.plain_values import (
    BATCH_ROWS,
    FormatError,
    UnsupportedColumnError,
    plain_value,
    write_cells,
)
from tracehouse.queries.printable import json_text, printable

if TYPE_CHECKING:
    import pyarrow as pa


class Format(StrEnum):
    """The formats of a table: the first three are for people, and written by `cli.output`."""

    TABLE = "table"
    MARKDOWN = "markdown"
    HTML = "html"
    JSON = "json"
    CSV = "csv"
    TSV = "tsv"
    ARROW = "arrow"
    PARQUET = "parquet"

    @property
    def is_for_people(self) -> bool:
        """Whether numbers are rounded, with units."""
        return self not in MEDIA_TYPES

    @property
    def is_binary(self) -> bool:
        """Whether a terminal cannot show it."""
        return MEDIA_TYPES.get(self, "").startswith("application/vnd.apache.")


# The usual format comes first among those for programs.
MEDIA_TYPES: Mapping[Format, str] = {
    Format.JSON: "application/json",
    Format.CSV: "text/csv; charset=utf-8",
    Format.TSV: "text/tab-separated-values; charset=utf-8",
    Format.ARROW: "application/vnd.apache.arrow.stream",
    Format.PARQUET: "application/vnd.apache.parquet",
}

DELIMITERS = {Format.CSV: ",", Format.TSV: "\t"}
Rows: TypeAlias = "pa.Table | pa.RecordBatchReader"
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


def write_json(table: Rows, sink: IO[str]) -> None:
    """Write a list of one object per row, each on its own line.

    Raises:
        FormatError: Two columns have the same name.
    """
    names = table.schema.names
    for name in names:
        if names.count(name) > 1:
            raise FormatError(f"json: two columns are called '{name}'; rename one with AS")
    keys = [f"{json_text(name)}: " for name in names]
    start = "[\n"
    for rows in _join_rows(table, json_text, keys, ", "):
        sink.write(start + ",\n".join(f"{{{row}}}" for row in rows))
        start = ",\n"
    sink.write("[]\n" if start[0] == "[" else "\n]\n")


def write_encoded(table: Rows, format_: Format, sink: IO[bytes]) -> None:
    """Write a table in a format other than TABLE; texts in UTF-8."""
    match format_:
        case Format.ARROW:
            write_arrow(table, sink)
        case Format.PARQUET:
            write_parquet(table, sink)
        case _:
            text = TextIOWrapper(sink, "utf-8", newline="\n")
            try:
                if format_ == Format.JSON:
                    write_json(table, text)
                else:
                    write_csv(table, text, delimiter=DELIMITERS[format_])
            finally:
                text.detach()  # leaves the sink open


def write_document(document: object, sink: IO[str]) -> None:
    """Write a plain value as one line of JSON."""
    sink.write(json_text(document) + "\n")


def write_csv(
    table: Rows,
    sink: IO[str],
    *,
    delimiter: str = ",",
    is_safe: bool = False,
    is_escaped: bool = False,
) -> None:
    """Write a line of names and one per row.

    Null and the empty text are both empty, and nested values are JSON.

    Args:
        table: The rows.
        sink: A text stream.
        delimiter: Separator of cells; a tab for TSV.
        is_safe: Whether to put ' before texts that a spreadsheet would run as formulas.
        is_escaped: Whether to escape control characters, for a terminal.
    """
    sink.writelines(_csv_lines(table, delimiter, is_safe=is_safe, is_escaped=is_escaped))


def write_arrow(table: Rows, sink: IO[bytes]) -> None:
    """Write an Arrow IPC stream."""
    import pyarrow as pa

    with pa.ipc.new_stream(sink, table.schema) as stream:
        for batch in read_batches(table):
            stream.write_batch(batch)


def write_parquet(table: Rows, sink: IO[bytes]) -> None:
    """Write a Parquet file.

    Raises:
        UnsupportedColumnError: Parquet cannot hold a column.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema, last = table.schema, []
    try:
        with pq.ParquetWriter(_SinkWithPosition(sink), schema, compression="zstd") as file:
            for batch in read_batches(table):
                last = [batch]
                file.write_batch(batch)
    except pa.ArrowException as error:
        if len(schema) > 1:
            for i in range(len(schema)):  # find the column at fault
                column = [batch.select([i]) for batch in last]
                write_parquet(pa.Table.from_batches(column, pa.schema([schema[i]])), BytesIO())
        raise UnsupportedColumnError("parquet", schema.names[0], error) from error


class _SinkWithPosition:
    """A sink that knows its position, which pipes do not and Parquet needs."""

    closed = False

    def __init__(self, sink: IO[bytes]) -> None:
        self._sink, self._position = sink, 0

    def write(self, data: bytes) -> None:
        self._sink.write(data)
        self._position += len(data)

    def tell(self) -> int:
        return self._position

    def flush(self) -> None:
        self._sink.flush()

    def close(self) -> None:
        """Leave the sink open."""


def read_batches(table: Rows) -> Iterator[pa.RecordBatch]:
    """The batches of a table, or of a reader as it computes them."""
    yield from table.to_batches() if hasattr(table, "to_batches") else table


def _csv_lines(table: Rows, delimiter: str, *, is_safe: bool, is_escaped: bool) -> Iterator[str]:
    def cell(value: object) -> str:
        text = json_text(value) if isinstance(value, bool | list | dict) else value
        if is_safe and isinstance(text, str):
            text = _quote_formula(text)
        if is_escaped and isinstance(text, str):
            text = printable(text)
        writer.writerow([text, ""])  # csv would write "" for one empty cell
        return lines.pop()[: -2 - len(delimiter)] or empty

    lines: list[str] = []
    # csv quotes carriage returns only if they end lines.
    writer = csv.writer(SimpleNamespace(write=lines.append), delimiter=delimiter)
    names = table.schema.names
    empty = '""' if len(names) == 1 else ""  # so that the line is not blank
    yield delimiter.join(map(cell, names)) + "\n"
    for rows in _join_rows(table, cell, [""] * len(names), delimiter):
        yield "".join(f"{row}\n" for row in rows)


def _join_rows(
    table: Rows, write: Callable[[object], str], keys: Sequence[str], separator: str
) -> Iterator[Iterable[str]]:
    """The rows of a few thousand at a time as texts: the cells, each after its column's key."""
    parts = (
        batch.slice(start, BATCH_ROWS)
        for batch in read_batches(table)
        for start in range(0, batch.num_rows, BATCH_ROWS)
    )
    for batch in parts:
        columns = zip(batch.schema.names, batch.columns, keys, strict=True)
        cells = [
            write_cells(name, column, lambda value, key=key: key + write(plain_value(value)))  # type: ignore[misc]
            for name, column, key in columns
        ]
        yield map(separator.join, zip(*cells, strict=True))


def _quote_formula(text: str) -> str:
    is_formula = text.startswith(_FORMULA_STARTS) and text != "-Infinity"  # a number
    return f"'{text}" if is_formula else text
