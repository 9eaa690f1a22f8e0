"""A comparison of two builds for people: in words, and as a table of changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import pyarrow as pa

from tracehouse.queries.report.calls import is_unexplained_call
from tracehouse.queries.report.figures import (
    count_text,
    delta_text,
    duration_text,
    interval_text,
    operator_text,
    place_text,
)
from tracehouse.queries.report.parts import Row
from tracehouse.queries.report.tally import tally_operators
from tracehouse.warehouse.regressions.verdicts import SeriesVerdict

_CHANGES = {verdict: verdict.words for verdict in SeriesVerdict if verdict.is_change}
_EXPLAINED = SeriesVerdict.EXPLAINED_BY_RUN_SHIFT
_MOST_NAMED = 3
_TABLE = pa.schema(
    [
        (name, pa.string())
        for name in (
            *("operator", "change", "verdict", "base", "head", "level", "model", "backend"),
            *("device", "pool", "interval", "may_be"),
        )
    ]
)


def changed_rows(table: pa.Table) -> pa.Table:
    """The rows of the query `comparison` whose verdict is a change, costliest first.

    Cells are texts for people: changes in percent, durations with their unit. Columns without any
    value are left out. The metadata has a `note` about how values were compared, and about changes
    that the comparison may hide.
    """
    rows = table.to_pylist()
    shown = [_cells(row) for row in _changed(rows)]
    made = pa.Table.from_pylist(shown, _TABLE)
    filled = [name for name in _TABLE.names if made[name].null_count < len(shown)]
    return made.select(filled or _TABLE.names).replace_schema_metadata({"note": _note(rows)})


def summary_lines(table: pa.Table, *, base: str, head: str) -> list[str]:
    """The findings of the query `comparison`, in sentences: for all operators, then per model."""
    rows = table.to_pylist()
    operators = [row for row in rows if row["level"] == "operator"]
    calls = [row for row in rows if is_unexplained_call(row)]
    more = f"; {count_text(len(calls), 'delegate call')} changed alone" if calls else ""
    lines = [f"{head} against {base}: {tally_operators(rows).text(base, head)}{more}"]
    methods = _by_place(row for row in rows if row["level"] == "method")
    found_by_place = _by_place(_changed([*operators, *calls]))
    explained = (
        place
        for place, found in methods.items()
        if place not in found_by_place and any(row["verdict"] == _EXPLAINED for row in found)
    )
    for place, own in (found_by_place | {place: [] for place in explained}).items():
        named = [f"{_operator(row)} {_change(row)}{_guess(row)}" for row in own[:_MOST_NAMED]]
        others = [f"{len(own) - _MOST_NAMED:,} more"] * (len(own) > _MOST_NAMED)
        operators_text = ", ".join([*named, *others]) or "no operator by itself"
        parts = [operators_text, *map(_method_text, methods.get(place, ()))]
        lines.append(f"  {place}: {'; '.join(parts)}")
    return lines


def _changed(rows: Sequence[Row]) -> list[Row]:
    """The rows that changed, costliest first; unknown costs come last."""
    return sorted((row for row in rows if row["verdict"] in _CHANGES), key=_cheapness)


def _cheapness(row: Row) -> tuple[bool, float]:
    cost = row["cost_ns"]
    return cost is None, -abs(cost or 0.0)


def _cells(row: Row) -> dict[str, str | None]:
    names = ("verdict", "level", "model", "backend", "device", "pool", "may_be")
    return {
        **{name: row[name] for name in names},
        "operator": _operator(row),
        "change": None if row["delta"] is None else delta_text(row["delta"]),
        "base": None if row["base_ns"] is None else duration_text(row["base_ns"]),
        "head": None if row["head_ns"] is None else duration_text(row["head_ns"]),
        "interval": None
        if row["delta_low"] is None
        else interval_text(row["delta_low"], row["delta_high"]),
    }


def _operator(row: Row) -> str:
    if row["level"] == "module":
        return str(row["event_name"]) or "the program"
    if row["level"] in ("method", "operator_type"):
        return str(row["event_name"])
    return operator_text(row["event_name"], row["delegate_id"], row["ordinal"], row["run"] or "")


def _change(row: Row) -> str:
    is_timed = row["verdict"] in ("regression", "improvement")
    return delta_text(row["delta"]) if is_timed else _CHANGES[row["verdict"]]


def _guess(row: Row) -> str:
    return f" (may be {row['may_be']})" if row["may_be"] else ""


def _method_text(row: Row) -> str:
    if row["verdict"] in _CHANGES and None not in (row["base_ns"], row["head_ns"]):
        times = f"{duration_text(row['base_ns'])} to {duration_text(row['head_ns'])}"
        return f"{row['event_name']} {times}, {_change(row)}"
    if row["verdict"] == _EXPLAINED:
        moved = delta_text(row["state_delta"])
        return f"all moved together, {moved}: the device, or the whole build; record them in turns"
    change = interval_text(row["delta_low"], row["delta_high"])
    bounds = "" if row["delta_low"] is None else f" ({change})"
    return f"{row['event_name']} {SeriesVerdict(row['verdict']).words}{bounds}"


def _by_place(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[place_text(row["device"], row["model"], row["backend"])].append(row)
    return found


def _note(rows: Sequence[Row]) -> str:
    hidden = sorted({row["note"] for row in rows if row["note"]})
    references = sorted({row["reference"] for row in rows if row["reference"]})
    relative = [f"relative to the reference build {name}" for name in references]
    if any(row["frame"] == "residual" for row in rows):
        relative.append("recorded apart, so compared without the state of the device")
    return "; ".join([*relative, *hidden])
