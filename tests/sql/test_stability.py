from datetime import timedelta
from statistics import mean, stdev

import numpy as np
import pytest

from tests.support.store_rows import LONG_AGO, Event, StoreRows, run_query

WARM_UP = [900_000] * 5  # ticks of runs that do not count
STEADY = 21
VALUES = [100_000 + 1000 * step for step in range(8)]


def _add(store, values, **columns):
    """One dump per item, in order of time: the ticks of all its steady runs, or of each."""
    for hour, value in enumerate(values):
        number = store.add_dump(captured_at=LONG_AGO + timedelta(hours=hour), **columns)
        runs = value if isinstance(value, list) else [value] * STEADY
        for ticks in [*WARM_UP, *runs]:
            store.add_run(number, [Event("Method::execute", ticks, 0, chain=-1)])


def _ask(values, **columns):
    store = StoreRows()
    _add(store, values, **columns)
    (row,) = run_query(store.connect(), "stability")
    return row


def test_eight_dumps_by_hand():
    row = _ask(VALUES)
    cv, p99, widest = stdev(VALUES) / mean(VALUES), 106_930 / 103_500, 107 / 100
    # Two samples of 8 differ with 99 % certainty from U = 7 on: the interval's upper end is
    # above 56.5 of their 64 differences, and so above 49.4 of the 56 that there are here.
    differences = sorted(np.log(b / a) for a in VALUES for b in VALUES if a != b)
    assert row == {
        "device": "phone",
        "model": "net",
        "backend": "xnnpack",
        "run": "Execute",
        "build": "b1",
        "dump_count": 8,
        "run_count": 8 * STEADY,
        "p50_ns": 103_500,
        "cv": pytest.approx(cv),
        "iqr_share": pytest.approx(3500 / 103_500),
        "p99_over_p50": pytest.approx(p99),
        "max_over_min": pytest.approx(widest),
        "score": pytest.approx(
            0.5 * (100 - 1000 * cv) + 0.25 * (100 - 50 * (widest - 1)) + 0.25 * (200 - 100 * p99)
        ),
        "run_cv": 0,
        "run_iqr_share": 0,
        "run_p99_over_p50": 1,
        "run_max_over_min": 1,
        "drift": 0,
        "level_gap": None,
        "level_steps": 0,
        "minimum_detectable": pytest.approx(np.exp(differences[49]) - 1),
        "note": "drifts over the dumps",
        "dump_drift": pytest.approx(106 / 100.5 - 1),
        "change": None,
        "build_count": 1,
        "build_step": None,
        "build_drift": None,
    }


def test_noise_within_dumps_is_apart_from_noise_between_them():
    runs = [100_000, 110_000, 120_000] * 7
    row = _ask([runs] * 8)
    assert (row["cv"], row["max_over_min"], row["score"]) == (0, 1, 100)
    assert row["run_cv"] == pytest.approx(stdev(runs) / mean(runs))
    assert row["run_iqr_share"] == pytest.approx(20 / 110)
    assert row["run_max_over_min"] == pytest.approx(1.2)
    assert row["run_p99_over_p50"] == pytest.approx(120 / 110)


def test_drift_is_the_last_third_against_the_first():
    row = _ask([[100_000] * 7 + [101_000] * 7 + [104_000] * 7] * 8)
    assert row["drift"] == pytest.approx(0.04)
    assert row["note"] == "drifts within dumps"


def test_dumps_that_jump_between_two_levels_are_noted():
    high = [round(1.3 * value) for value in VALUES]
    row = _ask([*VALUES[:4], *high[4:6], *VALUES[4:], *high[6:]])
    assert row["level_gap"] == pytest.approx(high[4] / VALUES[-1] - 1)
    assert row["level_steps"] == 3
    assert row["note"].endswith("dumps run at two levels")


def test_one_dump_of_many_is_no_level():
    many = [100_000 + 10 * step for step in range(12)]
    assert _ask([*many, 150_000])["level_gap"] is None
    assert _ask([*many, 150_000, 150_001, 150_002])["level_gap"] == pytest.approx(0.5, abs=0.01)


def test_noise_that_hides_changes_is_noted():
    row = _ask([100_000, 200_000] * 4)
    assert row["minimum_detectable"] == pytest.approx(1)
    assert row["note"].startswith("hides changes below 100 %")


def test_few_dumps_are_noted_and_show_no_change():
    row = _ask(VALUES[:4])
    assert (row["minimum_detectable"], row["note"]) == (None, "fewer than 8 dumps")
    row = _ask(VALUES[:1])
    assert (row["cv"], row["score"], row["dump_count"]) == (None, None, 1)


@pytest.mark.slow
def test_more_dumps_show_smaller_changes():
    several = [_ask(VALUES * times)["minimum_detectable"] for times in (1, 3, 4, 6)]
    assert several == sorted(several, reverse=True)
    assert several[0] > several[-1]


def test_dumps_with_too_few_steady_runs_do_not_count():
    store = StoreRows()
    _add(store, [[100_000] * 19])
    assert run_query(store.connect(), "stability") == []


def test_clock_of_unknown_rate_has_shares_but_no_times():
    row, known = _ask(VALUES, ns_per_tick=None), _ask(VALUES)
    assert row.pop("p50_ns") is None
    assert known.pop("p50_ns") == 103_500
    assert row == known


def test_builds_and_devices_are_apart():
    store = StoreRows()
    _add(store, VALUES)
    _add(store, VALUES, build="b2")
    _add(store, VALUES, device="tablet", backend=None)
    rows = run_query(store.connect(), "stability")
    found = [(row["device"], row["build"], row["dump_count"]) for row in rows]
    assert found == [("phone", "b1", 8), ("phone", "b2", 8), ("tablet", "b1", 8)]


def test_drift_over_builds_is_the_last_third_against_the_first():
    store = StoreRows()
    for number, value in enumerate([100_000, 100_000, 101_000, 102_000, 103_000, 105_000]):
        store.add_build(f"b{number}", ordinal=number)
        _add(store, [value] * 8, build=f"b{number}")
    rows = run_query(store.connect(), "stability")
    assert [row["change"] and round(row["change"], 4) for row in rows] == [
        None, 0, 0.01, 0.0099, 0.0098, 0.0194,
    ]  # fmt: skip
    assert {row["build_count"] for row in rows} == {6}
    assert rows[0]["build_step"] == pytest.approx(1 / 101)
    assert rows[5]["build_drift"] == pytest.approx(0.04)
    assert {row["note"] for row in rows} == {"drifts over builds"}
