"""Aligned columns of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from tracehouse.queries.cells import columns_of, short_headings, text_columns

if TYPE_CHECKING:
    import pyarrow as pa


def text_lines(table: pa.Table, query: str = "") -> Iterator[str]:
    """A line of column names and one per row; nulls are empty."""
    columns = columns_of(table, query)
    names: list[list[str | None]] = [[name] for name in short_headings(columns)]
    widths = [_width(name) for name in names]
    for cells in text_columns(table, columns):
        widths = [max(width, _width(own)) for width, own in zip(widths, cells, strict=True)]
    aligned = [column.is_number for column in columns]
    for cells in chain([names], text_columns(table, columns)):
        padded = map(_padded, cells, widths, aligned)
        yield from ("  ".join(row).rstrip() for row in zip(*padded, strict=True))


def _width(cells: Sequence[str | None]) -> int:
    return max((_places(cell) for cell in cells if cell), default=0)


def _places(text: str) -> int:
    """Width of a text on a terminal, where some characters take two places and some none."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _padded(cells: Sequence[str | None], width: int, is_right: bool) -> list[str]:
    pad = str.rjust if is_right else str.ljust
    texts = [cell or "" for cell in cells]
    return [pad(text, width + len(text) - _places(text)) for text in texts]
