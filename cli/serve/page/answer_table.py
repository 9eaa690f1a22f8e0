"""The table of any answer: readable numbers, links to histories, and a bar for what is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as types

from tracehouse.cli.serve.page.cells import Cell, Row, history_link, link
from tracehouse.cli.serve.page.listing import Column, Table, listing, sort_page
from tracehouse.cli.serve.page.page_request import Address
from tracehouse.queries.cells import OPERATOR, arrange_columns, columns_of, lift_constants
from tracehouse.queries.cells import Column as CellColumn
from tracehouse.queries.drawing.bars import draw_share
from tracehouse.queries.plots.figure import value_column
from tracehouse.queries.plots.terminal import HISTORIES, HOTSPOTS
from tracehouse.queries.report.figures import NONE, name_text, short_name
from tracehouse.warehouse.catalogue.header import Header
from tracehouse.warehouse.errors import QueryError
from tracehouse.warehouse.regressions.changes import SeriesVerdict

ROWS = 100  # of a page
_PLACE = ("device", "model", "backend")
_NAMES = (
    *_PLACE,
    "verdict",
    "problems",
    "last_build",
    "pool",
    "build",
    "run",
    "group",
    "op_type",
    "module_path",
    "allocator",
    "counter",
)
_PLAIN = (*HISTORIES, "device_health")  # queries whose values need no bars
_ON_PHONES, _ON_TABLETS = 3, 6  # columns


class AnswerTable(NamedTuple):
    """A table, a line about what all of its rows have in common, and whether it can be drawn."""

    table: Table
    common: str
    is_drawn: bool


def answer_table(
    request: Address, header: Header, table: pa.Table, more: Sequence[Column] = ()
) -> AnswerTable:
    """The page of the answer in the address, sorted as it says, else in the answer's order.

    Columns that the answer does not have can be added after what is drawn.
    """
    arranged = arrange_columns(table, header.name)
    said = {*request.filters, *([OPERATOR] if "event" in request.filters else [])}
    common, rows = lift_constants(arranged, header.name, but=said)
    described = {column.name: column for column in columns_of(table, header.name)}
    value = _drawn_column(header.name, table)
    names = ["event_name" if name == OPERATOR else name for name in rows.column_names]
    names = _in_order(names, value)
    columns = _columns([described[name] for name in names], table, value, header.name)
    drawn = [number for number, one in enumerate(columns, 1) if one.sort in (value, "change")]
    at = max(drawn, default=len(columns))
    columns[at:at] = more
    request = _without_idle_sort(request, table, columns)
    shown = sort_page(request, _with_texts(table, arranged), columns, sort="", size=ROWS)
    return AnswerTable(listing(request, "Answer", columns, shown), common, value is not None)


def _without_idle_sort(request: Address, table: pa.Table, columns: Sequence[Column]) -> Address:
    """The address without a sort by a column of the answer that is not shown."""
    sort = request.fields.get("sort", "").removeprefix("-")
    if sort not in table.column_names or sort in {column.sort for column in columns}:
        return request
    return replace(request, fields={**request.fields, "sort": ""})


def _in_order(names: Sequence[str], value: str | None) -> list[str]:
    """The operator first, then its place, then what is drawn, then all else."""
    first = ("event_name", *_PLACE)
    start = [name for name in first if name in names] if "event_name" in names else []
    texts = [*start, *(name for name in names if name in _NAMES and name not in start)]
    drawn = [name for name in names if name in (value, "change")]
    return [*texts, *drawn, *(name for name in names if name not in (*texts, *drawn))]


def _columns(
    described: Sequence[CellColumn], table: pa.Table, value: str | None, query: str
) -> list[Column]:
    names = [column.name for column in described]
    places = [name for name in _PLACE if name in names]
    columns: list[Column] = []
    for one in described:
        name = one.name
        cell = partial(_operator, places=places) if name == "event_name" else _cell(one)
        sort = "" if types.is_nested(table.schema.field(name).type) else name
        is_under = name in places and "event_name" in names  # the operator's cell has it there
        room = "p2" if is_under else "" if name in ("event_name", value) else _room(len(columns))
        columns.append(Column(one.heading, cell, sort, one.is_number, one.doc, room))
        if name == value and query not in _PLAIN and (most := _most(table[name])):
            bar = partial(_bar, name=name, most=most)
            columns.append(Column(f"{one.heading}, drawn", bar, room="p2 draw"))
    return columns


def _room(place: int) -> str:
    """The class of a column at a place: the later ones are left out where there is little room."""
    return "" if place < _ON_PHONES else "p2" if place < _ON_TABLETS else "p3"


def _drawn_column(name: str, table: pa.Table) -> str | None:
    if name in HOTSPOTS:
        return HOTSPOTS[name]
    try:
        return value_column(name, table)
    except QueryError:
        return None


def _most(column: pa.ChunkedArray) -> float:
    """The value of the longest bar; 0 if bars would not show the values."""
    edges = pc.min_max(column).as_py()
    return float(edges["max"]) if edges["min"] is not None and edges["min"] >= 0 else 0.0


def _cell(column: CellColumn) -> Callable[[Row], Cell | str]:
    """How a cell of the column is shown: its text, perhaps with a link, or a unit that is apart."""
    if column.name in _LINKS:
        return _LINKS[column.name]
    if column.unit in ("ns", "bytes"):
        return lambda row: _with_unit(column.text(row[column.name]))
    if column.unit == "unit":
        return lambda row: _with_unit(row.get(f"{column.name} text"))
    return lambda row: column.text(row[column.name]) or NONE


def _with_unit(text: str | None) -> Cell:
    number, _, unit = (text or NONE).partition(" ")
    return Cell(number, unit=unit)


def _with_texts(table: pa.Table, arranged: pa.Table) -> pa.Table:
    """The answer with texts that need other columns: operators' names, values in a row's unit."""
    for name in arranged.column_names:
        if name not in table.column_names:
            table = table.append_column(name, arranged[name])
        elif types.is_string(arranged[name].type) and not types.is_string(table[name].type):
            table = table.append_column(f"{name} text", arranged[name])
    return table


def _operator(row: Row, places: Sequence[str]) -> Cell:
    """An operator, with a link to its history; its place stands below it on phones."""
    event, delegate, ordinal = row["event_name"], row.get("delegate_id"), row.get("ordinal")
    if event is None:
        return Cell(NONE)
    place = {name: row.get(name) for name in _PLACE}
    number = {"ordinal": ordinal} if ordinal is not None else {}
    href = history_link(event, delegate_id=delegate, **number, **place)
    under = " · ".join(name_text(row[name]) for name in places if row[name])
    full = short_name(event, delegate, ordinal, row.get("run") or "").full
    return Cell(row[OPERATOR], href, under=under, full=full)


def _bar(row: Row, name: str, most: float) -> Cell:
    share = (row[name] or 0) / most
    return Cell(
        "",
        picture=draw_share(share),
    )


def _series(row: Row, name: str) -> Cell:
    """A device or model, with a link to the history of its runs."""
    places = {"device": ("device",), "model": _PLACE}[name]
    where = {one: row.get(one) for one in places}
    return Cell(name_text(row[name]), history_link(**where) if row[name] is not None else "")


def _build(row: Row) -> Cell:
    where = {name: row.get(name) for name in _PLACE}
    return Cell(name_text(row["build"]), link("/dumps", **where, build=row["build"]))


def _of_device(row: Row, name: str, query: str, **params: str) -> Cell:
    """What is known of a device, with a link to a query about it."""
    where = {key: row[column] for key, column in params.items()}
    href = link(f"/explore/{query}", device=row["device"], **where)
    return Cell(name_text(row[name]), href) if row[name] else Cell(NONE)


def _verdict(row: Row) -> Cell:
    """A verdict in the words of the rest of the page; files have its name."""
    verdict = row["verdict"]
    name = (verdict or NONE).removeprefix("suspect_")
    words = SeriesVerdict(name).words if name in set(SeriesVerdict) else name.replace("_", " ")
    return Cell(words if name == verdict else f"{words}, new")


def _dump(number: int | None) -> Cell:
    return Cell(NONE) if number is None else Cell(str(number), link(f"/dumps/{number}"))


_LINKS: dict[str, Callable[[Row], Cell | str]] = {
    "device": partial(_series, name="device"),
    "model": partial(_series, name="model"),
    "build": _build,
    "dump_id": lambda row: _dump(row["dump_id"]),
    "problems": partial(_of_device, name="problems", query="device_days"),
    "last_build": partial(
        _of_device, name="last_build", query="operator_hotspots", build="last_build"
    ),
    "sha256": lambda row: Cell((row["sha256"] or NONE)[:12]),
    "example": lambda row: Cell(row["example"][:12], link(f"/dumps/{row['example']}")),
    "verdict": _verdict,
    "note_id": lambda row: Cell("Show", link(f"/notes/{row['note_id']}")),
}
