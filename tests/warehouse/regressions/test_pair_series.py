from __future__ import annotations

import numpy as np
import pytest

from tests.support.pair_rows import CONV, RELU, dumps_of, sides, value_row, values_table
from tracehouse.warehouse.regressions.pair_series import join_series, lay_out_pair

LEVEL = [10_000.0, 10_100.0, 10_200.0]


def _lay_out(rows, **dumps):
    return lay_out_pair(values_table(rows), dumps_of(rows, **dumps))


def _values(series, row, *, is_head):
    values = series.values
    own = (values.series == row) & (values.is_head == is_head)
    return values.value[own].tolist()


def test_series_are_ordered_and_keep_the_facts_of_the_head():
    rows = [
        *sides(LEVEL, LEVEL, event_name=RELU, instruction_id=7),
        *sides(LEVEL, [], event_name=CONV, instruction_id=3),
        *sides(LEVEL, LEVEL, event_name="Method::execute", kind="method"),
    ]
    series = _lay_out(rows)
    assert series.keys["level"].to_pylist() == ["method", "operator", "operator"]
    assert series.keys["event_name"].to_pylist() == ["Method::execute", CONV, RELU]
    assert series.instruction.tolist()[2] == 7
    assert np.isnan(series.instruction[1])
    assert series.has(series.values.is_head).tolist() == [True, False, True]
    assert _values(series, 2, is_head=False) == LEVEL


def test_pair_series_use_only_nanoseconds_and_keep_dumps_without_a_value():
    ticks = sides([9.0], [], unit="ticks")
    series = _lay_out([*sides(LEVEL, [None, *LEVEL]), *({**row, "dump": 50} for row in ticks)])
    assert series.is_ns.tolist() == [True]
    assert [v for v in _values(series, 0, is_head=False) if v == v] == LEVEL
    assert np.isnan(_values(series, 0, is_head=True)[0])
    assert series.has(series.values.is_head).all()


def test_values_of_dumps_that_came_later_are_left_out():
    rows = sides(LEVEL, LEVEL)
    dumps = dumps_of(rows)
    later = value_row(50, 9_000.0, distance=1)
    series = lay_out_pair(values_table([later, *rows]), dumps)
    assert _values(series, 0, is_head=False) == LEVEL
    assert len(lay_out_pair(values_table([later]), dumps).keys) == 0


def test_times_below_half_a_tick_count_as_that_but_are_shown_as_they_are():
    series = _lay_out(sides([100.0], [900.0], half_tick=500.0))
    assert series.values.log.tolist() == pytest.approx([np.log(500), np.log(900)])
    assert sorted(series.values.value.tolist()) == [100, 900]


def _recorded(build, distance, level, *, session, dumps=3, start=0):
    return [
        value_row(start + n, v * level, distance, build=build, session=session)
        for n, v in enumerate(LEVEL[:dumps])
    ]


def test_values_are_relative_to_a_reference_of_both_builds():
    rows = [
        *_recorded("base", 1, 1.0, session="mon"),
        *_recorded("pinned", None, 1.0, session="mon", start=200),
        *_recorded("head", 0, 1.2, session="tue", start=100),
        *_recorded("pinned", None, 1.2, session="tue", start=300),
        *_recorded("head", 0, 3.0, session="alone", start=400),
    ]
    series = _lay_out(rows)
    base, head = (_values(series, 0, is_head=side) for side in (False, True))
    assert head[:3] == pytest.approx(base)
    assert np.isnan(head[3:]).all(), "a session without the reference does not count"
    assert series.reference == ["pinned"]


def test_a_reference_of_one_build_changes_nothing():
    rows = [
        *_recorded("base", 1, 1.0, session="mon"),
        *_recorded("head", 0, 1.2, session="tue", start=100),
        *_recorded("pinned", None, 1.2, session="tue", start=300),
    ]
    series = _lay_out(rows)
    assert _values(series, 0, is_head=False) == LEVEL
    assert series.reference == [None]


def test_the_last_of_several_references_counts():
    rows = [
        row
        for build, distance, level, session, start in (
            ("base", 1, 1.0, "mon", 0),
            ("a", None, 2.0, "mon", 200),
            ("b", None, 1.0, "mon", 300),
            ("head", 0, 1.0, "tue", 100),
            ("a", None, 1.0, "tue", 400),
            ("b", None, 1.3, "tue", 500),
        )
        for row in _recorded(build, distance, level, session=session, start=start)
    ]
    series = _lay_out(rows)
    assert series.reference == ["b"]
    ratio = np.median(_values(series, 0, is_head=True)) / np.median(
        _values(series, 0, is_head=False)
    )
    assert ratio == pytest.approx(1 / 1.3)


def _apart(count, factor, *, own=1.0):
    noise = np.random.default_rng(count).normal(1, 1e-3, (count, 2, 10))
    return [
        row
        for n in range(count)
        for row in sides(
            [1e4 * each for each in noise[n, 0]],
            [1e4 * factor * (own if n == 0 else 1.0) * each for each in noise[n, 1]],
            event_name=f"native_call_op{n}.out",
        )
    ]


def _apart_dumps(rows):
    found = dumps_of(rows)
    return found._replace(is_apart=np.ones(len(found.number), bool))


@pytest.mark.parametrize(("count", "is_removed"), [(2, False), (5, True)])
def test_the_state_of_a_device_is_removed_where_operators_show_it(count, is_removed):
    rows = _apart(count, 1.2)
    series = lay_out_pair(values_table(rows), _apart_dumps(rows))
    known = ~np.isnan(series.state_shift)
    assert set(known.tolist()) == {is_removed}
    if is_removed:
        assert series.state_shift == pytest.approx(np.log(1.2), abs=2e-3)
        ratio = np.median(_values(series, 1, is_head=True)) / 1e4
        assert ratio == pytest.approx(1, abs=2e-3)


def test_a_steady_device_keeps_its_values_and_one_operator_does_not_move_the_state():
    steady = _apart(5, 1.02)
    assert np.isnan(lay_out_pair(values_table(steady), _apart_dumps(steady)).state_shift).all()
    moved = _apart(6, 1.2, own=1.1)
    series = lay_out_pair(values_table(moved), _apart_dumps(moved))
    assert np.median(_values(series, 0, is_head=True)) == pytest.approx(1.1e4, rel=2e-3)


def test_joined_series_are_in_order_and_keep_their_values():
    first = _lay_out(sides(LEVEL, LEVEL, event_name=RELU))
    second = _lay_out(sides(LEVEL, [], event_name=CONV))
    joined = join_series([first, second])
    assert joined.keys["event_name"].to_pylist() == [CONV, RELU]
    assert _values(joined, 0, is_head=True) == []
    assert _values(joined, 1, is_head=True) == LEVEL
