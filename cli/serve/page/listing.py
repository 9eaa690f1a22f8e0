"""The tables of the page: sorted by a column of the reader's choice, and cut into pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.page.cells import Cell, Row, natural_key
from tracehouse.cli.serve.page.page_request import Address

ROWS = 50  # of a page


class Column(NamedTuple):
    """A column of a table."""

    title: str
    cell: Callable[[Row], Cell | str]
    sort: str = ""  # the field that sorts by it
    is_number: bool = False  # aligned right, and sorted the largest first
    doc: str = ""  # the meaning, on hover
    room: str = ""  # class of the width below which it is left out


class Head(NamedTuple):
    """A heading: the address that sorts by its column, and how the rows are sorted by it now."""

    text: str
    href: str = ""
    order: str = ""  # ascending or descending, as in aria-sort
    is_number: bool = False
    doc: str = ""
    room: str = ""

    @property
    def kind(self) -> str:
        """The classes of its column's cells."""
        return " ".join(filter(None, ["n" if self.is_number else "", self.room]))


class Pager(NamedTuple):
    """Which part is shown, and the addresses of the pages around it."""

    text: str = ""
    links: Sequence[tuple[str, str]] = ()


_ONE_PAGE = Pager()


@dataclass(frozen=True)
class Table:
    """A table of a view, as its template shows it."""

    title: str
    heads: Sequence[Head]
    rows: Sequence[Sequence[Cell | str]]
    pager: Pager = _ONE_PAGE
    more: Cell | None = None  # a link below the rows
    lead: str = ""  # a line above them


class Shown(NamedTuple):
    """The rows of a page, how they are sorted, and the pages around it."""

    rows: list[Row]
    sort: str = ""
    pager: Pager = _ONE_PAGE


def sort_page(
    request: Address,
    rows: pa.Table,
    columns: Sequence[Column],
    *,
    sort: str,
    size: int = ROWS,
) -> Shown:
    """The rows of the page in the address, sorted by the column in the address.

    By default they are sorted by the field `sort`, with '-' for the largest first, or keep their
    order; the first column decides ties.

    Raises:
        Problem: 400 if no such column sorts, or the page is no number.
    """
    wanted = request.fields.get("sort") or sort
    name = wanted.removeprefix("-")
    fields = [column.sort for column in columns if column.sort]
    if name not in {*fields, sort.removeprefix("-")}:
        raise Problem(400, "sort", f"sort={wanted}, wanted one of {', '.join(fields)}")
    order = list(range(rows.num_rows))
    for field in (*fields[:1], wanted) if wanted else ():
        order = _sort(order, rows[field.removeprefix("-")].to_pylist(), field.startswith("-"))
    start, pager = turn_pages(request, rows.num_rows, size=size)
    shown = pa.array(order[start : start + size], pa.int64())
    return Shown(rows.take(shown).to_pylist(), wanted, pager)


def turn_pages(request: Address, count: int, *, size: int = ROWS) -> tuple[int, Pager]:
    """Where the page in the address starts, and its pager.

    Raises:
        Problem: 400 if the page is no number.
    """
    text = request.fields.get("page") or "1"
    if not (text.isdecimal() and len(text) <= 7 and int(text)):
        raise Problem(400, "page", f"page={text}, wanted a number of at least 1")
    last = max(1, -(-count // size))
    number = min(int(text), last)
    start = (number - 1) * size
    if last == 1:
        return start, _ONE_PAGE
    pages = {"First": 1, "Previous": number - 1, "Next": number + 1, "Last": last}
    links = [
        (what, request.here(page=str(page) if page > 1 else ""))
        for what, page in pages.items()
        if 1 <= page <= last and page != number
    ]
    return start, Pager(f"{start + 1:,} to {min(start + size, count):,} of {count:,}", links)


def listing(request: Address, title: str, columns: Sequence[Column], shown: Shown) -> Table:
    """The table of a page of rows, with headings that sort."""
    heads = [_head(request, column, shown.sort) for column in columns]
    return Table(title, heads, _cells(columns, shown.rows), shown.pager)


def _head(request: Address, column: Column, sort: str) -> Head:
    if not column.sort:
        return Head(column.title, is_number=column.is_number, doc=column.doc, room=column.room)
    is_current = sort.removeprefix("-") == column.sort
    is_descending = sort.startswith("-")
    order = ("descending" if is_descending else "ascending") if is_current else ""
    is_next_descending = not is_descending if is_current else column.is_number
    href = request.here(sort=f"{'-' * is_next_descending}{column.sort}", page="")
    return Head(column.title, href, order, column.is_number, column.doc, column.room)


def _cells(columns: Sequence[Column], rows: Iterable[Row]) -> list[list[Cell | str]]:
    return [[column.cell(row) for column in columns] for row in rows]


def _sort(order: Sequence[int], values: Sequence[Any], is_descending: bool) -> list[int]:
    """The indices of values, sorted; equal values keep their order, and null is last."""
    known = [i for i in order if values[i] is not None]
    keys = {i: natural_key(values[i]) if isinstance(values[i], str) else values[i] for i in known}
    known.sort(key=keys.__getitem__, reverse=is_descending)
    return [*known, *(i for i in order if values[i] is None)]
