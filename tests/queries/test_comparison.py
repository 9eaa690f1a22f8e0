"""A comparison as people read it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from tests.support.changes import change_row
from tracehouse.queries.comparison import (
    Comparison,
    comparison_html,
    comparison_lines,
    comparison_markdown,
    comparison_picture,
    describe_pair,
    picture_of_rows,
    plain_comparison,
)
from tracehouse.queries.report.comparable import note_order
from tracehouse.queries.report.terminal import line_text


def _found(*rows: dict[str, Any]) -> Comparison:
    return describe_pair(rows, base="b1", head="b2")


ROWS = (
    change_row(),
    change_row("unchanged", ordinal=2),
    change_row(level="method", kind="method", event_name="Method::execute", base_ns=1e7),
    change_row(level="operator_type", event_name="conv", kind=None),
    change_row("unchanged", level="module", event_name="net.layer", kind=None),
)


def test_slower_runs_are_stated_before_faster_operators() -> None:
    run = change_row(level="method", kind="method", event_name="Method::execute")
    found = _found(run, change_row("improvement", delta=-0.1), change_row("improvement", ordinal=2))
    assert found.sentence == "1 run is slower. 2 operators are faster."


def test_a_terminal_shows_a_sentence_one_count_and_the_changes() -> None:
    lines = [line_text(line) for line in comparison_lines(_found(*ROWS))]
    assert lines[:3] == [
        "1 operator is slower (net on lab, +5.0 %).",
        "b2 against b1 on lab",
        "2 operators: 1 slower, 1 unchanged",
    ]
    text = "\n".join(lines)
    assert "▲ Execute" in text
    assert "▲ conv #1" in text
    assert "net.layer" not in text
    assert "conv #2" not in text
    assert lines[-1] == "1 more: 1 unchanged; --all lists them"
    whole = "\n".join(map(line_text, comparison_lines(_found(*ROWS), is_all=True)))
    assert "conv #2" in whole
    assert "--all" not in whole


def test_a_plain_comparison_is_ascii() -> None:
    lines = plain_comparison(_found(*ROWS))
    assert "\n".join(lines).isascii()
    assert lines[5].startswith("slower  Execute  net  10.00 -> 10.50 ms")


def test_markdown_html_and_picture_say_the_same() -> None:
    found = _found(*ROWS)
    page = comparison_html(found, base="b1", head="b2")
    forms = (comparison_markdown(found), page, comparison_picture(found))
    for text in forms:
        assert "1 operator is slower (net on lab, +5.0 %)." in text
        assert "+5.0 %" in text
    assert "tracehouse compare b1 b2" in page


def test_what_is_folded_alone_has_no_heading() -> None:
    run = change_row("unchanged", level="method", kind="method", event_name="Method::execute")
    found = _found(run, change_row("unchanged"), change_row("inconclusive", ordinal=2))
    page = comparison_html(found, base="b1", head="b2")
    assert "<summary>Runs: 1 unchanged <" in page
    assert "<summary>Operators: 1 unchanged, 1 cannot tell <" in page
    assert "<h2>Runs" not in page
    assert line_text(comparison_lines(found)[-1]) == "--all lists all operators"


def test_a_call_that_no_operator_explains_is_beside_the_runs_with_its_guess() -> None:
    call = change_row(
        level="delegate", kind="delegate_call", event_name="DELEGATE_CALL", may_be="relu #1 (1 µs)"
    )
    found = _found(call, change_row("unchanged"))
    assert [str(one.operator) for one in found.runs.changes] == ["delegate call #1"]
    assert found.runs.changes[0].note == "may be relu #1 (1 µs)"
    assert found.tally.total == 1


def test_rows_without_levels_are_drawn_by_their_kinds() -> None:
    rows = [{key: value for key, value in row.items() if key != "level"} for row in ROWS[:3]]
    drawn = picture_of_rows(rows, base="b1", head="b2")
    assert "1 operator is slower" in drawn
    assert "b2 against b1" in drawn
    assert ">Execute<" not in drawn  # the runs are not operators


def test_notes_say_how_values_were_compared_and_what_is_hidden() -> None:
    hidden = change_row("unchanged", note="dumps differ in threads", reference="pinned")
    found = _found(hidden, hidden, change_row("needs_more_dumps", frame="residual"))
    assert found.notes == [
        "relative to the reference build pinned",
        "recorded apart, so compared without the state of the device",
        "dumps differ in threads",
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
    assert (doubt or "").startswith(f"b1 is older than b2 by its {by}" if by else "")
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
