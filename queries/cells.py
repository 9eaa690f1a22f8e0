"""Cells of an answer for people: what stands in each column, its unit, text and side.

Terminal, page, notebook, Markdown and HTML show the texts that are made here.
"""

from __future__ import annotations

import datetime
import json
import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from tracehouse.queries.plain_values import BATCH_ROWS, plain_value, python_values, write_cells
from tracehouse.queries.report.figures import (
    NONE,
    OperatorName,
    bytes_text,
    change_text,
    delta_text,
    distinct_names,
    duration_text,
    exact_text,
    measure_text,
    name_text,
    short_name,
)
from tracehouse.warehouse.catalogue.header import unit_of_name
from tracehouse.warehouse.catalogue.queries import find_query
from tracehouse.warehouse.errors import UnknownQueryError

if TYPE_CHECKING:
    import pyarrow as pa

    from tracehouse.warehouse.catalogue.header import Column as HeaderColumn

MAX_CELL = 300  # characters
_INTERNAL = ("rank", "build_ordinal", "committed_at", "first_captured_at", "run_signature_id")
_OF_OPERATOR = ("delegate_id", "ordinal", "instruction_id")
OPERATOR = "operator"  # the column in which an operator has its short name

_DIGITS = (4, 6, 9)
_HASHES = frozenset({"sha256", "example"})
_HASH_DIGITS = 12
_MOST_SHARE = 10  # above, a share has fewer digits
_PLAIN = ("_id", "_index", "ordinal", "rank", "position")  # numbers that name something
_SUFFIXES = ("_ns", "_bytes")  # units that stand in each cell
_HEADINGS = {  # in plain words, where the name alone says too little
    "event_name": "Operator",
    "base_count": "Base dumps",
    "head_count": "Head dumps",
    "missing_count": "Missing",
    "of_count": "Of dumps",
    "delta": "Change",
    "delta_low": "At least",
    "delta_high": "At most",
    "p_adjusted": "p adjusted",
}
_TIMES = ("total", "self", "mean", "tax", "kernel", "delegate", "execute", "run", "call", "lost")


class Column(NamedTuple):
    """A column of an answer.

    Attributes:
        name: Its name in JSON, CSV and SQL.
        unit: One of the header's; or empty.
        is_number: Whether it is aligned to the right.
        doc: The meaning, from the query's header; empty if there is none.
        digits: Significant digits of numbers without a unit, so that those of two rows that
            follow each other differ if the numbers do.
    """

    name: str
    unit: str = ""
    is_number: bool = False
    doc: str = ""
    digits: int = _DIGITS[0]

    @property
    def heading(self) -> str:
        """The name in plain words; see `heading`."""
        return heading(self.name)

    def text(self, value: object) -> str | None:
        """What stands in a cell; None for null."""
        if value is None or isinstance(value, str):
            return value if value is None else name_text(value, MAX_CELL)
        if isinstance(value, bool):
            return "yes" if value else "no"
        plain = plain_value(value)
        if isinstance(value, datetime.datetime):
            return value.isoformat(" ", "seconds").replace("+00:00", "Z")
        if isinstance(plain, int | float):
            return self._number_text(plain)
        text = plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)
        return name_text(text, MAX_CELL)

    def _number_text(self, value: float) -> str:
        match self.unit:
            case "ns":
                return duration_text(value)
            case "bytes":
                return bytes_text(value)
            case "share":
                return _share_text(value)
            case "change":
                return delta_text(value)
        if isinstance(value, int) and self.name.endswith(_PLAIN):
            return str(value)
        text = f"{value:,}" if isinstance(value, int) else _rounded(value, self.digits)
        return text.replace("-", "−", 1) if value < 0 else text


def columns_of(table: pa.Table, query: str = "") -> list[Column]:
    """The columns of a table, which may be the answer of a canned query."""
    known = _described(query)
    return [
        Column(
            field.name,
            unit := known[field.name].unit if field.name in known else unit_of_name(field.name),
            is_number(field.type) or unit == "unit",
            known[field.name].doc if field.name in known else "",
            _digits_of(table[place]),
        )
        for place, field in enumerate(table.schema)
    ]


def text_columns(table: pa.Table, columns: Sequence[Column]) -> Iterator[list[list[str | None]]]:
    """Cells of a few thousand rows at a time, one list per column; None for null."""
    for batch in table.to_batches(max_chunksize=BATCH_ROWS):
        yield [
            write_cells(column.name, values, column.text)
            for column, values in zip(columns, batch.columns, strict=True)
        ]


def arrange_columns(table: pa.Table, query: str = "") -> pa.Table:
    """The table without what tells people nothing.

    Columns that are null in all rows are left out, and a SHA-256 has its first digits. In the
    answer of a canned query, what another column says is left out too, an operator has its short
    name, and counts and times follow what they are counts and times of.
    """
    import pyarrow as pa

    if not table.num_rows:
        return table
    table = _with_short_hashes(table)
    if not query:
        table = _with_names_once(table)
    known = [name for name in table.column_names if table[name].null_count < table.num_rows]
    if not query:
        return table.select(known)
    texts = unit_texts(table, query)
    shown = [
        name for name in known if not is_left_out(name, table) and (name != "unit" or not texts)
    ]
    for name, own in texts.items():
        table = table.set_column(table.column_names.index(name), name, pa.array(own, pa.string()))
    if "event_name" in shown:
        names = pa.array([name and str(name) for name in operator_names(table)], pa.string())
        table = table.set_column(table.column_names.index("event_name"), OPERATOR, names)
    columns = [OPERATOR if name == "event_name" else name for name in shown]
    return table.select(sorted(columns, key=lambda name: _is_minor(name, table)))


def unit_texts(table: pa.Table, query: str) -> dict[str, list[str | None]]:
    """The texts of the columns whose values have the unit that their row states."""
    if "unit" not in table.column_names:
        return {}
    units = table["unit"].to_pylist()
    return {
        column.name: [
            None if value is None else measure_text(value, unit or "count")
            for value, unit in zip(table[column.name].to_pylist(), units, strict=True)
        ]
        for column in columns_of(table, query)
        if column.unit == "unit"
    }


def lift_constants(
    table: pa.Table, query: str = "", *, but: Collection[str] = ()
) -> tuple[str, pa.Table]:
    """What all of several rows have in common, for a line above them, and the other columns.

    At least one column is left. The line says nothing of the columns `but`; it may be empty.
    """
    if table.num_rows < 2:
        return "", table
    same = [name for name in table.column_names if _is_constant(table[name])]
    same = same[1:] if len(same) == table.num_columns else same
    columns = columns_of(table.select(same).slice(0, 1), query)
    common = [
        f"{title.lower() if query else title} {column.text(table[column.name][0].as_py()) or NONE}"
        for column, title in zip(columns, headings(columns, query), strict=True)
        if column.name not in but
    ]
    return f"In all rows: {', '.join(common)}" if common else "", table.drop_columns(same)


def _is_constant(column: pa.ChunkedArray) -> bool:
    import pyarrow.types as types

    if types.is_nested(column.type) or not len(column) or column[0] != column[-1]:
        return False
    return len(column.unique()) == 1


def _is_minor(name: str, table: pa.Table) -> bool:
    import pyarrow.types as types

    return name.endswith("_count") or types.is_timestamp(table.schema.field(name).type)


def is_left_out(name: str, table: pa.Table) -> bool:
    """Whether people get a column only in files: what another column says, counts of nothing, and
    what is true of no row.
    """
    import pyarrow.compute as pc
    import pyarrow.types as types

    names = table.column_names
    if name in _INTERNAL or (name == "pool" and "device" in names):
        return True
    if name == "instruction_id":
        return {"event_name", "ordinal"} <= set(names)
    if name in _OF_OPERATOR:
        return "event_name" in names
    column = table[name]
    if types.is_boolean(column.type):
        return not pc.any(column).as_py()
    return name.endswith("_count") and pc.max(column).as_py() == 0 == pc.min(column).as_py()


def operator_names(table: pa.Table) -> list[OperatorName | None]:
    """The short name of each row's operator; null where the row has none.

    Without ordinals, an operator has only the number that its delegate gave it.
    """
    events = table["event_name"].to_pylist()
    has_number = "ordinal" in table.column_names
    keys = zip(
        events,
        *(
            table[name].to_pylist() if name in table.column_names else [None] * len(events)
            for name in ("delegate_id", "ordinal", "run")
        ),
        strict=True,
    )
    made: dict[tuple[object, ...], OperatorName | None] = {}
    listed = list(keys)
    for key in listed:
        if key not in made:
            event, delegate, ordinal, run = key
            number = (1 if ordinal is None else ordinal) if has_number else None
            made[key] = (
                short_name(event or "", delegate, number, run or "")
                if event is not None or delegate is not None
                else None
            )
    known = {key: name for key, name in made.items() if name is not None}
    apart = dict(zip(known, distinct_names(list(known.values())), strict=True))
    return [apart.get(key) for key in listed]


def is_number(type_: pa.DataType) -> bool:
    """Whether a column of this type is aligned to the right."""
    import pyarrow.types as types

    return bool(types.is_integer(type_) or types.is_floating(type_) or types.is_decimal(type_))


def headings(columns: Sequence[Column], query: str) -> list[str]:
    """The names of columns for a page: in plain words, unless somebody chose them in SQL."""
    return [column.heading for column in columns] if query else short_headings(columns)


def short_headings(columns: Sequence[Column]) -> list[str]:
    """The names of columns as JSON has them, without the unit that stands in each cell."""
    short = [_without_unit(column) for column in columns]
    count: dict[str, int] = defaultdict(int)
    for name in short:
        count[name] += 1
    return [
        name_text(column.name if count[name] > 1 else name, MAX_CELL)
        for column, name in zip(columns, short, strict=True)
    ]


def heading(name: str) -> str:
    """A column's name in plain words; its unit is in the cells.

    >>> heading("self_ns"), heading("call_count"), heading("p50_ns"), heading("refused_count")
    ('Self time', 'Calls', 'p50', 'Refused')
    """
    if name in _HEADINGS:
        return _HEADINGS[name]
    words = name_text(name, MAX_CELL).removesuffix("_ns").removesuffix("_count").replace("_", " ")
    if name.endswith("_ns") and words in _TIMES:
        words = f"{words} time"
    if name.endswith("_count") and not words.endswith("ed"):
        words = f"{words}s"
    is_percentile = words[:1] == "p" and words[1:].isdecimal()
    return words if is_percentile else f"{words[:1].upper()}{words[1:]}"


def _with_names_once(table: pa.Table) -> pa.Table:
    """An event that is called by its delegate id has that once."""
    import pyarrow as pa

    if not {"event_name", "delegate_id"} <= set(table.column_names):
        return table
    pairs = zip(table["event_name"].to_pylist(), table["delegate_id"].to_pylist(), strict=True)
    ids = pa.array([None if name == id_ else id_ for name, id_ in pairs], pa.string())
    return table.set_column(table.column_names.index("delegate_id"), "delegate_id", ids)


def _with_short_hashes(table: pa.Table) -> pa.Table:
    """The table with as many digits of each SHA-256 as commands and pages need."""
    hashes = _HASHES.intersection(table.column_names)
    if hashes:
        import pyarrow.compute as pc  # slow import
    for name in hashes:
        short = pc.utf8_slice_codeunits(table[name], 0, _HASH_DIGITS)
        table = table.set_column(table.column_names.index(name), name, short)
    return table


def _without_unit(column: Column) -> str:
    if not column.is_number:
        return column.name
    return column.name.removesuffix(next(filter(column.name.endswith, _SUFFIXES), ""))


def _described(query: str) -> Mapping[str, HeaderColumn]:
    try:
        return {column.name: column for column in find_query(query).header.columns}
    except UnknownQueryError:
        return {}


def _digits_of(column: pa.ChunkedArray) -> int:
    """How many digits tell each number from the one in the row above."""
    import pyarrow.types as types

    if not types.is_floating(column.type):
        return _DIGITS[0]
    values = [v for chunk in column.chunks for v in python_values("", chunk)]
    pairs = [(a, b) for a, b in pairwise(values) if None not in (a, b) and a == a != b == b]
    for digits in _DIGITS:
        if all(_rounded(a, digits) != _rounded(b, digits) for a, b in pairs):
            return digits
    return _DIGITS[-1]


def _share_text(share: float) -> str:
    """A share with the digits of a change, so that those of a column stand below each other."""
    if abs(share) >= _MOST_SHARE:
        return f"{'−' if share < 0 else ''}{change_text(abs(share))}"
    if share in (0, 1):
        return f"{100 * share:.0f} %"
    text = delta_text(share).removeprefix("+")
    return "<0.01 %" if text == "0.00 %" else text


def _rounded(value: float, digits: int) -> str:
    """The value with this many significant digits, and all digits before the point."""
    if not math.isfinite(value):
        return "NaN" if value != value else f"{value}"
    if value == int(value) and abs(value) < 1e15:
        return exact_text(value).replace("−", "-")
    if not 1000 <= abs(value) < 1e18:
        return f"{value:.{digits}g}"
    before = len(f"{abs(value):.0f}")
    return f"{value:,.{max(0, digits - before)}f}"
