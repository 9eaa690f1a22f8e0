"""What holds for every change, on every surface."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.changes import change_row, changes_html
from tests.support.reports import group, member
from tracehouse.queries.comparison import describe_pair
from tracehouse.queries.report.change import Kind, Speeds, change_of_group, change_of_row, kind_of
from tracehouse.queries.report.change_picture import change_picture
from tracehouse.queries.report.markdown import changes_markdown
from tracehouse.queries.report.parts import ChangePart
from tracehouse.queries.report.tables import ChangeTable, part_names
from tracehouse.queries.report.terminal import line_text, plain_lines, terminal_lines
from tracehouse.warehouse.regressions.changes import SeriesVerdict

TIMES = st.floats(10.0, 1e11)
DELTAS = st.floats(-0.5, 3.0)


def _number(text: str) -> float:
    return float(text.replace("−", "-").replace(",", ""))


@given(TIMES, DELTAS)
def test_base_times_one_and_the_change_is_the_head_as_shown(base: float, delta: float) -> None:
    change = change_of_row(change_row(base_ns=base, delta=delta))
    was, now, _ = change.levels
    if " " in was or now == "–" or not re.fullmatch(r"[+−][\d.,]+ %", change.percent):
        return  # a base in a smaller unit than the head
    percent = _number(change.percent.removesuffix(" %"))
    digits = len(now.partition(".")[2])
    rounding = 0.5 * 10**-digits * (2 + abs(delta)) + 0.00051 * max(1, abs(percent)) * _number(was)
    assert abs(_number(was) * (1 + percent / 100) - _number(now)) <= rounding


@given(st.lists(st.tuples(TIMES, DELTAS), min_size=1, max_size=9))
def test_costs_are_head_less_base_in_one_unit_and_add_up(pairs) -> None:
    changes = [change_of_row(change_row(base_ns=base, delta=delta)) for base, delta in pairs]
    table = ChangeTable.of(changes)
    for change in table.changes:
        assert change.cost_ns == change.head - change.base
    shown = sum(_number(table.cost(change)) for change in table.changes)
    total = math.fsum(change.cost_ns for change in changes) / table.cost_scale
    assert abs(shown - total) <= 0.051 * len(changes) + 1e-6 * abs(total)


def test_the_costliest_changes_come_first_and_noise_is_folded_and_counted() -> None:
    rows = [
        change_row(ordinal=1, base_ns=1e4),
        change_row("unchanged", ordinal=2, base_ns=1e9),
        change_row("improvement", ordinal=3, base_ns=1e7, delta=-0.1),
        change_row("inconclusive", ordinal=4),
        change_row("new_op", ordinal=5, base_ns=None, delta=None, head_ns=2e6),
    ]
    table = ChangeTable.of(map(change_of_row, rows))
    assert [change.operator.number for change in table.changes] == ["#5", "#3", "#1"]
    assert table.rest == "2 more: 1 unchanged, 1 cannot tell"
    assert table.cost_unit == "µs"
    assert [table.cost(change) for change in table.changes] == ["+2,000.0", "−1,000.0", "+0.5"]


def test_swapped_builds_give_the_opposite() -> None:
    there = change_of_row(change_row(base_ns=1e6, delta=0.25))
    back = change_of_row(
        change_row("improvement", base_ns=1.25e6, delta=-0.2, delta_low=-0.3, delta_high=-0.1)
    )
    assert (there.levels[0], there.levels[1]) == (back.levels[1], back.levels[0])
    assert there.cost_ns == -back.cost_ns
    assert (there.kind, back.kind) == (Kind.SLOWER, Kind.FASTER)


NAMES = [
    ("native_call_convolution.out", None, 2, "convolution #2"),
    ("Convolution (NHWC, F32) IGEMM #3", "Convolution (NHWC, F32) IGEMM #3", 1,
     "Convolution IGEMM #3"),
    ("DELEGATE_CALL", None, 1, "delegate call #1"),
    ("aten::add.Scalar_out", None, 3, "add.Scalar #3"),
]  # fmt: skip


@pytest.mark.parametrize(("event", "delegate", "ordinal", "name"), NAMES)
def test_an_operator_has_one_name_on_every_surface(event, delegate, ordinal, name) -> None:
    row = change_row(event_name=event, delegate_id=delegate, ordinal=ordinal)
    table = ChangeTable.of([change_of_row(row)])
    page = re.sub(r"<[^>]+>", "", str(changes_html(table)))
    assert name in page
    assert name in line_text(terminal_lines(table)[1])
    assert name in plain_lines(table)[0]
    assert f"`{name}`" in changes_markdown(table)
    assert f">{name}<" in re.sub(r"<title>.*?</title>", "", change_picture(table, "h"))
    for text in (page, changes_markdown(table)):
        assert "native_call_" not in text
    assert f'title="{table.changes[0].operator.full}"' in str(changes_html(table))


def test_a_change_is_drawn_outside_of_what_cannot_be_seen() -> None:
    change = change_of_row(change_row(delta_low=0.01, delta_high=0.5, minimum_detectable=0.22))
    assert change.zone == 0.01
    quiet = change_of_row(change_row("inconclusive", minimum_detectable=0.22))
    assert quiet.zone == 0.22


def test_two_speeds_are_counted_and_say_which_speed_the_times_are_of() -> None:
    speeds = change_of_row(change_row(base_slow=5, head_slow=8)).speeds
    assert speeds == Speeds(5, 12, 8, 12)
    assert speeds.tag == "two speeds, slow 5 → 8 of 12"
    assert speeds.sentence.endswith("Base and head are both at the fast speed.")
    assert Speeds(8, 12, 3, 10).tag == "two speeds, slow 8 of 12 → 3 of 10"
    assert "the slow one" in Speeds(8, 12, 3, 10).line
    assert change_of_row(change_row()).speeds is None


def test_a_change_is_a_sentence() -> None:
    assert change_of_row(change_row(backend="portable")).sentence == (
        "conv #1 in net · portable on lab is 5.0 % slower (1.000 → 1.050 ms, +50.00 µs per run)"
    )
    assert change_of_row(change_row("below_resolution")).sentence == (
        "conv #1 in net on lab is too fast to judge"
    )


@pytest.mark.parametrize("verdict", SeriesVerdict)
def test_every_verdict_has_a_readable_word(verdict) -> None:
    word = change_of_row(change_row(verdict)).word
    assert "_" not in word
    assert len(word) <= 21


@pytest.mark.parametrize(
    ("state", "direction", "kind", "word"),
    [
        ("confirmed", "regression", Kind.SLOWER, "slower"),
        ("new", "regression", Kind.NEW, "new"),
        ("acknowledged", "regression", Kind.ACKNOWLEDGED, "acknowledged"),
        ("muted", "regression", Kind.ACKNOWLEDGED, "muted"),
        ("fixed", "regression", Kind.FIXED, "fixed"),
        ("new", "improvement", Kind.FASTER, "faster"),
    ],
)
def test_an_alert_has_the_kind_of_its_state(state, direction, kind, word) -> None:
    alert = group(state=state, direction=direction)
    assert kind_of(alert) == (kind, word)
    assert change_of_group(alert).kind == kind


def test_a_member_has_the_numbers_of_its_alert() -> None:
    one = group(member(speeds=(5, 12, 8, 12)))
    change = change_of_group(one)
    assert str(change.operator) == "convolution #3"
    assert change.where == "mobilenet_v2 · xnnpack on pixel8"
    assert change.levels == ("1.240", "1.317", "ms")
    assert change.speeds == Speeds(5, 12, 8, 12)


def test_all_operators_of_a_comparison_are_in_its_one_count() -> None:
    rows = [
        change_row(),
        change_row("unchanged", ordinal=2),
        change_row("needs_more_dumps", ordinal=3, model="gone", head_count=0),
    ]
    found = describe_pair(rows, base="a", head="b")
    shown = [*found.operators.changes, *found.operators.folded]
    assert len(shown) == found.tally.total == 2
    assert found.notes == ["not compared: 1 operator of runs that only a has"]


def test_operators_that_differ_in_data_types_only_are_told_apart_in_a_table() -> None:
    ids = [f"Convolution (NHWC, {types}) IGEMM #1" for types in ("F32", "QC8")]
    rows = [change_row(event_name=one, delegate_id=one) for one in ids]
    table = ChangeTable.of(map(change_of_row, rows))
    assert sorted(str(change.operator) for change in table.changes) == ids
    (alone,) = ChangeTable.of([change_of_row(rows[0])]).changes
    assert str(alone.operator) == "Convolution IGEMM #1"


def test_parts_of_a_method_are_told_apart_too() -> None:
    ids = [f"Convolution (NHWC, {types}) IGEMM #1" for types in ("F32", "QC8")]
    parts = [
        ChangePart(
            kind="operator", event_name=one, delegate_id=one, ordinal=1,
            base_ns=1.0, head_ns=2.0, cost_ns=1.0,
        )
        for one in ids
    ]  # fmt: skip
    assert part_names(parts) == ids
