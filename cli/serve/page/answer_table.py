"""The table of any answer: readable numbers, links to histories, and a bar for what is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as types

from tracehouse.cli.serve.page.cells import Cell, Row, history_link, link
from tracehouse.cli.serve.page.listing import Column, Table, listing, sort_page
from tracehouse.cli.serve.page.page_request import Address
from tracehouse.queries.cells import OPERATOR, columns_of, is_left_out, operator_names, unit_texts
from tracehouse.queries.cells import Column as CellColumn
from tracehouse.queries.drawing.bars import draw_share
from tracehouse.queries.plots.figure import value_column
from tracehouse.queries.plots.terminal import HISTORIES, HOTSPOTS
from tracehouse.queries.report.figures import NONE, name_text
from tracehouse.warehouse.catalogue.header import Header
from tracehouse.warehouse.errors import QueryError

ROWS = 100  # of a page
_FULL = "full operator"  # its column has the name for those who hover
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
    """A table, what all of its rows have in common, and whether the answer can be drawn."""

    table: Table
    constants: str
    is_drawn: bool


def answer_table(
    request: Address, header: Header, table: pa.Table, more: Sequence[Column] = ()
) -> AnswerTable:
    """The page of the answer in the address, sorted as it says, else in the answer's order.

    Columns that the answer does not have can be added after what is drawn.
    """
    described = {column.name: column for column in columns_of(table, header.name)}
    known = [name for name in table.column_names if table[name].null_count < table.num_rows]
    is_one = "event" in request.filters and _has_one_operator(table)  # which the view names
    same = [n for n in known if (is_one or n != "event_name") and _is_constant(table[n])]
    out = {name for name in known if is_left_out(name, table) or _is_never(table[name])}
    value = _drawn_column(header.name, table)
    names = _in_order([name for name in known if name not in {*same, *out}], value)
    columns = _columns([described[name] for name in names], table, value, header.name)
    drawn = [number for number, one in enumerate(columns, 1) if one.sort in (value, "change")]
    at = max(drawn, default=len(columns))
    columns[at:at] = more
    shown = sort_page(request, _with_texts(table, header.name), columns, sort="", size=ROWS)
    common = [
        f"{described[name].heading.lower()} {described[name].text(value)}"
        for name, value in _first(table, same).items()
        if name not in {*request.filters, "event_name", *out}
    ]
    made = listing(request, "Answer", columns, shown)
    return AnswerTable(made, ", ".join(common), value is not None)


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


def _is_constant(column: pa.ChunkedArray) -> bool:
    """Whether all rows have the same text, which then stands above the table."""
    if len(column) < 2 or not types.is_string(column.type) or column.null_count:
        return False
    return bool(pc.count_distinct(column).as_py() == 1)


def _is_never(column: pa.ChunkedArray) -> bool:
    """Whether the column says no in all rows."""
    return types.is_boolean(column.type) and not pc.any(column).as_py()


def _has_one_operator(table: pa.Table) -> bool:
    names = [
        name for name in ("event_name", "delegate_id", "ordinal") if name in table.column_names
    ]
    return bool(names) and table.group_by(names).aggregate([]).num_rows == 1


def _first(table: pa.Table, names: Sequence[str]) -> Row:
    return table.select(names).slice(0, 1).to_pylist()[0] if names and table.num_rows else {}


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


def _with_texts(table: pa.Table, query: str) -> pa.Table:
    """The answer with texts that need other columns: operators' names, values in a row's unit."""
    for name, texts in unit_texts(table, query).items():
        table = table.append_column(f"{name} text", pa.array(texts, pa.string()))
    if "event_name" not in table.column_names:
        return table
    names = operator_names(table)
    short = pa.array([name and str(name) for name in names], pa.string())
    full = pa.array([name and name.full for name in names], pa.string())
    return table.append_column(OPERATOR, short).append_column(_FULL, full)


def _operator(row: Row, places: Sequence[str]) -> Cell:
    """An operator, with a link to its history; its place stands below it on phones."""
    event, delegate, ordinal = row["event_name"], row.get("delegate_id"), row.get("ordinal")
    if event is None:
        return Cell(NONE)
    place = {name: row.get(name) for name in _PLACE}
    number = {"ordinal": ordinal} if ordinal is not None else {}
    href = history_link(event, delegate_id=delegate, **number, **place)
    under = " · ".join(name_text(row[name]) for name in places if row[name])
    return Cell(row[OPERATOR], href, under=under, full=row[_FULL])


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
    "note_id": lambda row: Cell("Show", link(f"/notes/{row['note_id']}")),
}
