"""A comparison as people read it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from tracehouse.queries.comparison import changed_rows, summary_lines
from tracehouse.queries.report.build_order import note_order

TEXTS = (
    *("level", "device", "model", "backend", "event_name", "delegate_id", "verdict"),
    *("explained_by", "may_be", "note", "pool", "reference", "run", "frame"),
)
NUMBERS = ("base_ns", "head_ns", "delta", "delta_low", "delta_high", "cost_ns", "state_delta")
SCHEMA = pa.schema(
    [(name, pa.string()) for name in TEXTS]
    + [(name, pa.float64()) for name in NUMBERS]
    + [(name, pa.int64()) for name in ("ordinal", "base_count", "head_count")]
)


def _row(verdict: str, **columns: Any) -> dict[str, Any]:
    usual = {
        "level": "operator",
        "device": "lab",
        "model": "net",
        "event_name": "conv",
        "run": "Execute",
    }
    counts = {"base_count": 8, "head_count": 8}
    return {**usual, **counts, "ordinal": 1, "delta": 0.05, "verdict": verdict, **columns}


def _table(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(rows, SCHEMA)


def test_rows_that_changed_come_by_cost() -> None:
    rows = [
        _row("new_op", cost_ns=20.0),
        _row("unchanged", cost_ns=0.0),
        _row("moved"),
        _row("improvement", cost_ns=-90.0),
        _row("regression", cost_ns=50.0),
    ]
    verdicts = changed_rows(_table(*rows))["verdict"].to_pylist()
    assert verdicts == ["improvement", "regression", "new_op", "moved"]


def test_operator_change_and_verdict_come_first_and_changes_are_in_percent() -> None:
    times = {"base_ns": 1000.0, "head_ns": 2_000_000.0}
    interval = {"delta_low": 0.04, "delta_high": 0.06}
    table = changed_rows(_table(_row("regression", **times, **interval)))
    assert table.column_names[:5] == ["operator", "change", "verdict", "base", "head"]
    (row,) = table.to_pylist()
    assert row == {
        "operator": "conv #1",
        "change": "+5.0 %",
        "verdict": "regression",
        "base": "1.000 µs",
        "head": "2.000 ms",
        "level": "operator",
        "model": "net",
        "device": "lab",
        "interval": "+4.0 % to +6.0 %",
    }


def test_note_says_how_values_were_compared_and_what_is_hidden() -> None:
    hidden = _row("unchanged", note="dumps differ in threads", reference="pinned")
    changed = changed_rows(_table(hidden, hidden, _row("needs_more_dumps")))
    assert changed.num_rows == 0
    assert changed.schema.metadata[b"note"].decode() == (
        "relative to the reference build pinned; dumps differ in threads"
    )


def test_what_moved_all_operators_is_said_though_none_changed_by_itself() -> None:
    columns = {"level": "method", "frame": "residual", "state_delta": 0.14}
    moved = _row("explained_by_run_shift", **columns, event_name="Method::execute")
    _, line = summary_lines(_table(_row("unchanged"), moved), base="a", head="b")
    assert line == (
        "  lab · net: no operator by itself; all moved together, +14.0 %: "
        "the device, or the whole build; record them in turns"
    )
    assert changed_rows(_table(moved)).schema.metadata[b"note"].decode() == (
        "recorded apart, so compared without the state of the device"
    )


def test_words_name_the_costliest_changes_and_what_the_method_did() -> None:
    slower = [_row("regression", ordinal=number, cost_ns=-number) for number in (1, 2, 3, 4)]
    method = _row("regression", level="method", event_name="run", base_ns=1e6, head_ns=1.05e6)
    steady = _row("unchanged", model="other")
    table = _table(*slower, method, steady)
    assert summary_lines(table, base="b1", head="b2") == [
        "b2 against b1: 1 method slower; 4 slower of 5 operators; 1 unchanged",
        "  lab · net: conv #4 +5.0 %, conv #3 +5.0 %, conv #2 +5.0 %, 1 more; "
        "run 1.000 ms to 1.050 ms, +5.0 %",
    ]


class OrderedBuilds:
    """A store that has recorded these builds, in order."""

    def __init__(self, *rows: dict[str, Any]) -> None:
        self._rows = [row | {"position": place} for place, row in enumerate(rows, start=1)]

    def query(self, _name: str, /, **_params: object) -> pa.Table:
        raise NotImplementedError

    def sql(self, *_: object) -> pa.Table:
        times = ("committed_at", "first_captured_at", "last_captured_at")
        numbers, texts = ("position", "build_ordinal"), ("build", "build_parent")
        columns = [
            *((name, pa.string()) for name in texts),
            *((name, pa.int64()) for name in numbers),
        ]
        schema = pa.schema([*columns, *((name, pa.timestamp("us", "UTC")) for name in times)])
        return pa.Table.from_pylist(self._rows, schema)


def _day(day: int) -> datetime:
    return datetime(2026, 1, day, tzinfo=UTC)


def _recorded(build: str, first: int, last: int, **columns: Any) -> dict[str, Any]:
    days = {"first_captured_at": _day(first), "last_captured_at": _day(last)}
    return {"build": build, **days, **columns}


@pytest.mark.parametrize(
    ("base", "head", "by"),
    [
        ({"build_ordinal": 2}, {"build_ordinal": 1}, "ordinal"),
        ({"committed_at": _day(2)}, {"committed_at": _day(1)}, "commit time"),
        ({"build_parent": "b1"}, {}, "parents"),
        ({"build_parent": "b1", "committed_at": _day(1)}, {"committed_at": _day(2)}, "parents"),
        ({"build_parent": "b2"}, {"build_parent": "b1"}, None),
        ({}, {}, None),  # recorded side by side
        # Commit times that are those of the recordings tell nothing.
        ({"committed_at": _day(10)}, {"committed_at": _day(9)}, None),
    ],
)
def test_head_that_is_older_by_what_tells_is_doubted(
    base: dict[str, Any], head: dict[str, Any], by: str | None
) -> None:
    store = OrderedBuilds(_recorded("b1", 4, 8, **head), _recorded("b2", 5, 9, **base))
    doubt = note_order(store, base="b2", head="b1")
    assert (doubt or "").startswith(f"by its {by} the head b1 is older" if by else "")
    assert (doubt is None) == (by is None)
    assert note_order(store, base="b1", head="b2") is None


def test_head_recorded_before_the_base_is_doubted() -> None:
    store = OrderedBuilds(_recorded("b1", 3, 4), _recorded("b2", 5, 9))
    assert "by its recordings" in (note_order(store, base="b2", head="b1") or "")


def test_an_ancestor_is_older_through_the_builds_between() -> None:
    middle = _recorded("b2", 4, 8, build_parent="b1")
    last = _recorded("b3", 4, 8, build_parent="b2")
    store = OrderedBuilds(_recorded("b1", 4, 8), middle, last)
    assert "by its parents" in (note_order(store, base="b3", head="b1") or "")
    assert note_order(store, base="b3", head="unknown") is None
