"""The table of any answer: readable numbers, links to histories, and a bar for what is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as types

from tracehouse.cli.output.text import is_number
from tracehouse.cli.serve.page.cells import Cell, Row, date_text, history_link, link, time_cell
from tracehouse.cli.serve.page.listing import Column, Table, listing, sort_page
from tracehouse.cli.serve.page.page_request import Address
from tracehouse.queries.plain_values import plain_value
from tracehouse.queries.plots.figure import value_column
from tracehouse.queries.plots.terminal import HISTORIES, HOTSPOTS
from tracehouse.queries.printable import json_text
from tracehouse.queries.report.figures import NONE, delta_text, name_text, number_text, short_name
from tracehouse.warehouse.catalogue.header import Header
from tracehouse.warehouse.errors import QueryError

ROWS = 100  # of a page
_IDS = ("_id", "_index", "ordinal", "rank", "position")
_CHANGES = ("delta", "change", "shift", "drift", "excess", "error")
_OPERATOR = ("delegate_id", "ordinal", "instruction_id")
_INTERNAL = ("rank", "build_ordinal", "committed_at", "first_captured_at", "run_signature_id")
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
_TIMES = ("total", "self", "mean", "tax", "kernel", "delegate", "execute", "run", "call", "lost")


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
    known = [name for name in table.column_names if table[name].null_count < table.num_rows]
    is_one = "event" in request.filters and _has_one_operator(table)  # which the view names
    same = [n for n in known if (is_one or n != "event_name") and _is_constant(table[n])]
    names = [name for name in known if name not in same and not _is_left_out(name, table)]
    value = _drawn_column(header.name, table)
    columns = _columns(header, table, _in_order(names, value), value)
    drawn = [number for number, one in enumerate(columns, 1) if one.sort in (value, "change")]
    at = max(drawn, default=len(columns))
    columns[at:at] = more
    shown = sort_page(request, table, columns, sort="", size=ROWS)
    common = [
        f"{heading(name).lower()} {_text(value)}"
        for name, value in _first(table, same).items()
        if name not in (*request.filters, "event_name") and not _is_left_out(name, table)
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
    header: Header, table: pa.Table, names: Sequence[str], value: str | None
) -> list[Column]:
    docs = {column.name: column.doc for column in header.columns}
    places = [name for name in _PLACE if name in names]
    operator = partial(_operator, places=places)
    columns: list[Column] = []
    for name in names:
        kind = table.schema.field(name).type
        has_numbers = is_number(kind)
        cell = operator if name == "event_name" else _cell(name, is_number=has_numbers)
        sort = "" if types.is_nested(kind) else name
        is_under = name in places and "event_name" in names  # the operator's cell has it there
        room = "p2" if is_under else "" if name in ("event_name", value) else _room(len(columns))
        columns.append(Column(heading(name), cell, sort, has_numbers, docs.get(name, ""), room))
        if name == value and header.name not in _PLAIN and (most := _most(table[name])):
            bar = partial(_bar, name=name, most=most)
            columns.append(Column(f"{heading(name)}, drawn", bar, room="p2 draw"))
    return columns


def _room(place: int) -> str:
    """The class of a column at a place: the later ones are left out where there is little room."""
    return "" if place < _ON_PHONES else "p2" if place < _ON_TABLETS else "p3"


def _is_left_out(name: str, table: pa.Table) -> bool:
    """Whether people get a column only in files: what another column says, or counts of nothing."""
    names = table.column_names
    if name in _INTERNAL or (name == "pool" and "device" in names):
        return True
    if name in _OPERATOR:
        return "event_name" in names
    column = table[name]
    if types.is_boolean(column.type) and not pc.any(column).as_py():
        return True
    return name.endswith("_count") and pc.max(column).as_py() == 0 == pc.min(column).as_py()


def heading(name: str) -> str:
    """A column's name in plain words; its unit is in the cells.

    >>> heading("self_ns"), heading("call_count"), heading("p50_ns"), heading("event_name")
    ('Self time', 'Calls', 'p50', 'Operator')
    """
    if name == "event_name":
        return "Operator"
    words = name.removesuffix("_ns").removesuffix("_count").replace("_", " ")
    if name.endswith("_ns") and words in _TIMES:
        words = f"{words} time"
    if name.endswith("_count"):
        words = f"{words}s"
    is_percentile = words[0] == "p" and words[1:].isdecimal()
    return words if is_percentile else f"{words[0].upper()}{words[1:]}"


def _is_constant(column: pa.ChunkedArray) -> bool:
    """Whether all rows have the same text, which then stands above the table."""
    if len(column) < 2 or not types.is_string(column.type) or column.null_count:
        return False
    return bool(pc.count_distinct(column).as_py() == 1)


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


def _cell(name: str, *, is_number: bool) -> Callable[[Row], Cell | str]:
    """How a cell of the column is shown."""
    if name.endswith("_ns"):
        return lambda row: time_cell(row[name])
    if name.endswith("share"):
        return lambda row: NONE if row[name] is None else f"{100 * row[name]:.1f} %"
    if name in _CHANGES or name.startswith("delta_"):
        return lambda row: delta_text(row[name]) if _is_real(row[name]) else _text(row[name])
    if name == "dump_id":
        return lambda row: Cell(str(row[name]), link(f"/dumps/{row[name]}"))
    if is_number and name.endswith(_IDS):
        return lambda row: NONE if row[name] is None else str(row[name])
    if is_number:
        return lambda row: number_text(row[name])
    return _LINKS.get(name, lambda row: _text(row[name]))


def _is_real(value: object) -> bool:
    return value is None or isinstance(value, int | float)


def _text(value: object) -> str:
    """A value that is no number."""
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if hasattr(value, "tzinfo"):
        return date_text(value)  # type: ignore[arg-type]
    return name_text(value, 300) if isinstance(value, str) else json_text(plain_value(value))


def _operator(row: Row, places: Sequence[str]) -> Cell:
    """An operator, with a link to its history; its place stands below it on phones."""
    event, delegate, ordinal = row["event_name"], row.get("delegate_id"), row.get("ordinal")
    if event is None:
        return Cell(NONE)
    place = {name: row.get(name) for name in _PLACE}
    number = {"ordinal": ordinal} if ordinal is not None else {}
    href = history_link(event, delegate_id=delegate, **number, **place)
    under = " · ".join(name_text(row[name]) for name in places if row[name])
    name = short_name(event, delegate, ordinal or 1, row.get("run") or "")
    text = str(name) if ordinal else name.name
    return Cell(text, href, under=under, full=name.full)


def _bar(row: Row, name: str, most: float) -> Cell:
    share = 100 * (row[name] or 0) / most
    return Cell(
        "",
        picture='<svg class="bar" aria-hidden="true"><rect class="bg" width="100%" height="8" '
        f'rx="2"/><rect width="{share:.1f}%" height="8" rx="2"/></svg>',
    )


def _series(row: Row, name: str) -> Cell:
    """A device or model, with a link to the history of its runs."""
    places = {"device": ("device",), "model": _PLACE}[name]
    where = {one: row.get(one) for one in places}
    return Cell(_text(row[name]), history_link(**where) if row[name] is not None else "")


def _build(row: Row) -> Cell:
    where = {name: row.get(name) for name in _PLACE}
    return Cell(_text(row["build"]), link("/dumps", **where, build=row["build"]))


_LINKS: dict[str, Callable[[Row], Cell | str]] = {
    "device": partial(_series, name="device"),
    "model": partial(_series, name="model"),
    "build": _build,
    "problems": lambda row: (
        Cell(_text(row["problems"]), link("/explore/device_days", device=row["device"]))
        if row["problems"]
        else NONE
    ),
    "sha256": lambda row: Cell((row["sha256"] or NONE)[:12]),
    "note_id": lambda row: Cell("Show", link(f"/notes/{row['note_id']}")),
}
