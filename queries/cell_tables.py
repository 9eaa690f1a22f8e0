"""Tables of cells in Markdown and HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from tracehouse.queries.cells import Column, columns_of, headings, text_columns
from tracehouse.queries.report.figures import NONE

if TYPE_CHECKING:
    import pyarrow as pa

_STYLE = (
    "<style>body { font: 14px system-ui, sans-serif } table { border-collapse: collapse }\n"
    "th, td { padding: 4px 10px; border-bottom: 1px solid #ddd; text-align: left }\n"
    ".right { text-align: right; font-variant-numeric: tabular-nums }</style>"
)


def markdown_lines(table: pa.Table, query: str = "") -> Iterator[str]:
    """A table of GitHub's Markdown."""
    columns = columns_of(table, query)
    rules = ["---:" if column.is_number else "---" for column in columns]
    yield _markdown_row(headings(columns, query))
    yield f"| {' | '.join(rules)} |"
    for cells in text_columns(table, columns):
        yield from map(_markdown_row, zip(*cells, strict=True))


def page_lines(table: pa.Table, query: str = "") -> Iterator[str]:
    """A page with the table alone, which needs nothing from elsewhere."""
    yield '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>tracehouse</title>'
    yield _STYLE
    yield from html_lines(table, query)
    yield "</html>"


def html_lines(table: pa.Table, query: str = "") -> Iterator[str]:
    """The element of a table."""
    columns = columns_of(table, query)
    heads = (_element("th", *pair) for pair in zip(columns, headings(columns, query), strict=True))
    yield f"<table><thead><tr>{''.join(heads)}</tr></thead><tbody>"
    for cells in text_columns(table, columns):
        for row in zip(*cells, strict=True):
            parts = (_element("td", *pair) for pair in zip(columns, row, strict=True))
            yield f"<tr>{''.join(parts)}</tr>"
    yield "</tbody></table>"


def _markdown_row(cells: Sequence[str | None]) -> str:
    texts = (escape(cell or "", quote=False).replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(texts)} |"


def _element(tag: str, column: Column, text: str | None) -> str:
    side = ' class="right" style="text-align:right"' if column.is_number else ""
    return f"<{tag}{side}>{escape(NONE if text is None else text)}</{tag}>"
