from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracehouse.warehouse.statistics.rollups import (
    clock_resolution,
    clock_steps,
    group_events,
    grouped_median,
    interpolate_sorted,
    summarise_events,
)

_OTHER = 100  # runs from this on are of another signature


def events(rows: list[tuple[int, int, int, int, int]]) -> pa.Table:
    """Decoded events of (dump, signature, run, duration, flags); run signatures end as runs do."""
    names = ("dump_index", "event_signature_id", "run_index", "duration_ticks", "flags")
    columns = list(zip(*rows, strict=True)) or [()] * 5
    types = (pa.int32(), pa.int64(), pa.int32(), pa.int64(), pa.int32())
    table = pa.table({n: pa.array(c, t) for n, c, t in zip(names, columns, types, strict=True)})
    run_signatures = pa.array([run // _OTHER for run in table["run_index"].to_pylist()], pa.int64())
    return table.append_column("run_signature_id", run_signatures)


def signatures(delegated: int) -> pa.Table:
    """Signatures 1 to 8, of which one is a delegate's."""
    kinds = ["delegate_op" if number == delegated else "kernel" for number in range(1, 9)]
    units = pa.nulls(8, pa.string())
    ids = pa.array(range(1, 9), pa.int64())
    return pa.table({"event_signature_id": ids, "kind": kinds, "unit": units})


def summarise(
    rows: list[tuple[int, int, int, int, int]], delegated: int = 0
) -> list[dict[str, object]]:
    groups = group_events(events(rows))
    known = signatures(delegated)
    steps = clock_steps(groups, known, clock_resolution(groups, known, 4))
    tables = summarise_events(groups, np.zeros(4, bool), steps)
    assert tables["event_histograms"].num_rows == 0
    return list(tables["event_stats"].to_pylist())


@given(
    st.lists(st.integers(0, 2**62), min_size=1, max_size=40),
    st.sampled_from([0.0, 0.1, 0.5, 0.9, 0.95, 0.99, 1.0]),
)
def test_percentile_rule_is_numpys(samples: list[int], share: float) -> None:
    rows = np.sort(np.array([samples]), axis=1)
    ours = interpolate_sorted(rows, share)[0]
    assert ours == pytest.approx(np.percentile(samples, share * 100), rel=1e-15)


def test_statistics_of_a_group() -> None:
    (row,) = summarise([(0, 7, run, duration, 0) for run, duration in enumerate([4, 0, 2, 8])])
    assert (row["dump_index"], row["event_signature_id"], row["sample_count"]) == (0, 7, 4)
    assert (row["zero_count"], row["min_ticks"], row["max_ticks"]) == (1, 0, 8)
    assert (row["sum_ticks"], row["p50_ticks"]) == (14.0, 3.0)
    assert (row["steady_count"], row["steady_p50_ticks"]) == (0, None)


def test_warm_up_is_the_first_five_runs_of_the_signature_whatever_repeats_in_them() -> None:
    rows = [(0, 7, run, 100 if run < 7 else 10, 0) for run in range(2, 10) for _ in range(2)]
    (row,) = summarise(rows)
    assert (row["sample_count"], row["steady_count"], row["steady_p50_ticks"]) == (16, 6, 10.0)


def test_signature_in_two_run_signatures_of_a_dump_is_two_groups_each_with_its_warm_up() -> None:
    prompts = [(0, 7, run, 50, 0) for run in range(4)]
    tokens = [(0, 7, _OTHER + run, 1, 0) for run in range(7)]
    rows = summarise([*prompts, (0, 8, 3, 5, 0), *tokens])
    assert [(r["event_signature_id"], r["run_signature_id"], r["sample_count"], r["steady_count"])
            for r in rows] == [(7, 0, 4, 0), (8, 0, 1, 0), (7, 1, 7, 2)]  # fmt: skip
    assert rows[2]["steady_p50_ticks"] == 1.0


def test_events_that_were_read_back_in_another_order_are_grouped_in_order_of_runs() -> None:
    first = [(0, 7, run, 1, 0) for run in (1, 3, 5, 7)]
    second = [(0, 7, run, 50, 0) for run in (0, 2, 4, 6)]
    (row,) = summarise([*first, (0, 8, 9, 5, 0), *second])[:1]
    assert (row["sample_count"], row["steady_count"]) == (8, 3)
    assert row["steady_p50_ticks"] == 1.0  # runs 5, 6, 7: 1, 50, 1


def test_flagged_durations_are_left_out() -> None:
    rows = summarise([(0, 7, 0, 5, 1), (0, 7, 1, -5, 2), (0, 7, 2, -1, 4), (0, 8, 0, 9, 2)])
    assert [(row["event_signature_id"], row["sample_count"]) for row in rows] == [(7, 1)]


def test_unknown_flags_do_not_leave_a_duration_out() -> None:
    unheard_of = 1 << 20
    (row,) = summarise([(0, 7, 0, 5, unheard_of), (0, 7, 1, 6, unheard_of | 2)])
    assert row["sample_count"] == 1


def test_no_events_give_no_rows() -> None:
    assert summarise([]) == []


@given(
    st.lists(
        st.tuples(
            st.integers(0, 2), st.integers(1, 3), st.integers(0, 9),
            st.integers(0, 50), st.sampled_from([0, 0, 0, 2]),
        ),
        max_size=60,
    )
)  # fmt: skip
def test_statistics_equal_a_plain_computation(rows: list[tuple[int, int, int, int, int]]) -> None:
    rows.sort(key=lambda row: row[:3])
    expected: dict[tuple[int, int], list[int]] = {}
    for dump, signature, _, duration, flags in rows:
        if flags <= 1:
            expected.setdefault((dump, signature), []).append(duration)
    found = {(r["dump_index"], r["event_signature_id"]): r for r in summarise(rows)}
    assert found.keys() == expected.keys()
    for key, durations in expected.items():
        row = found[key]
        assert row["sample_count"] == len(durations)
        assert row["sum_ticks"] == sum(durations)
        assert row["p90_ticks"] == pytest.approx(np.percentile(durations, 90))


def test_each_clock_of_each_dump_has_its_own_step() -> None:
    rows = [
        (0, 1, 0, 3_000, 0), (0, 1, 1, 0, 0), (0, 2, 0, 17, 0), (0, 2, 1, 19, 0),
        (1, 1, 0, 3_500, 0), (1, 1, 1, 4_001, 0), (1, 2, 0, 500_000, 0), (1, 2, 1, 600_000, 0),
        (2, 1, 0, 5_000_000, 0),
        (3, 2, 0, 4_000, 0), (3, 2, 1, 5_000, 0), (3, 2, 2, 4, 2),
    ]  # fmt: skip
    groups, known = group_events(events(rows)), signatures(delegated=1)
    found = clock_resolution(groups, known, 4)
    assert found.tolist() == [[1, 1_000], [100_000, 1], [1, 1], [1_000, 1]]
    by_group = {0: [1_000, 1], 1: [1, 100_000], 2: [1], 3: [1_000]}
    steps = clock_steps(groups, known, found)
    assert {dump: steps[groups.dump == dump].tolist() for dump in range(4)} == by_group


def test_values_with_a_unit_and_untimed_events_do_not_tell_the_clock_step() -> None:
    groups = group_events(
        events([(0, n, run, 1_000 * (run + n), 0) for n in (3, 4, 5) for run in range(2)])
    )
    known = pa.table(
        {
            "event_signature_id": pa.array([5, 4, 3]),
            "kind": ["other", "delegate_op", "kernel"],
            "unit": [None, "us", None],
        }
    )  # fmt: skip
    found = clock_resolution(groups, known, 1)
    assert found.tolist() == [[1_000, 1]]
    assert clock_steps(groups, known, found).tolist() == [1_000, 1, 1_000]
    alone = clock_resolution(groups, known.set_column(1, "kind", [["other"] * 3]), 1)
    assert alone.tolist() == [[1, 1]]


def test_grouped_median_of_a_delegate_moves_with_the_share_of_each_count_of_its_clock() -> None:
    def value(*microseconds: int, warm_up: int = 99_000) -> object:
        steady = [(0, 1, 5 + i, 1_000 * n, 0) for i, n in enumerate(microseconds)]
        (row,) = summarise([*((0, 1, run, warm_up, 0) for run in range(5)), *steady], delegated=1)
        return row["steady_grouped_ticks"]

    assert value(3, 3, 3, 3) == 3_000
    assert value(2, 3, 3, 3) == pytest.approx(2_500 + 1_000 / 3)
    assert value(3, 3, 3, 4) == pytest.approx(2_500 + 2_000 / 3)
    assert value(2, 2, 3, 3) == 2_500
    assert value(2, 2, 9, 9) == 5_500
    assert value(*[100] * 10, *[200] * 10) == 150_000
    assert value(0, 0, 0, 5) == pytest.approx(500 / 3)
    assert value(0, 0, 0, 0) == 0
    of_a_finer_clock = value(2, 3, 3, 3, warm_up=99_001)
    assert of_a_finer_clock == pytest.approx(2_999.5 + 1 / 3)
    assert value() is None


@given(
    st.lists(st.lists(st.integers(0, 30), min_size=7, max_size=7), min_size=1, max_size=9),
    st.sampled_from([1, 1_000]),
)
def test_grouped_median_is_what_its_definition_says(rows: list[list[int]], step: int) -> None:
    ordered = np.sort(np.array(rows) * step, axis=1)
    found = grouped_median(ordered, np.full(len(rows), step))
    for row, value in zip(ordered.tolist(), found.tolist(), strict=True):
        middle = row[3]
        below, at = sum(one < middle for one in row) / 7, row.count(middle) / 7
        expected = max(middle - step / 2 + step * (0.5 - below) / at, 0)
        assert value == pytest.approx(expected, abs=1e-9)
