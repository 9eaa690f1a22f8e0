from datetime import timedelta
from statistics import mean, stdev

import numpy as np
import pytest

from tests.support.store_rows import LONG_AGO, Event, StoreRows, run_by_device, shown

WARM_UP = [900_000] * 5  # ticks of runs that do not count
STEADY = 21
VALUES = [100_000 + 1000 * step for step in range(8)]
HIGH = [round(1.3 * value) for value in VALUES]
MANY = [100_000 + 10 * step for step in range(12)]
NOISY = [100_000, 110_000, 120_000] * 7
# One dump per item, in order of time: the ticks of all its steady runs, or of each.
CASES = {
    "eight dumps": VALUES,
    "noise within": [NOISY] * 8,
    "drift within": [[100_000] * 7 + [101_000] * 7 + [104_000] * 7] * 8,
    "two levels": [*VALUES[:4], *HIGH[4:6], *VALUES[4:], *HIGH[6:]],
    "one outlier": [*MANY, 150_000],
    "three outliers": [*MANY, 150_000, 150_001, 150_002],
    "noise between": [100_000, 200_000] * 4,
    "four dumps": VALUES[:4],
    "one dump": VALUES[:1],
    "ticks": VALUES,
    **{f"eight dumps {times} times": VALUES * times for times in (3, 4, 6)},
    "short": [[100_000] * 19],
}


def _add(store, values, **columns):
    for hour, value in enumerate(values):
        number = store.add_dump(captured_at=LONG_AGO + timedelta(hours=hour), **columns)
        runs = value if isinstance(value, list) else [value] * STEADY
        ticks = [*WARM_UP, *runs]
        store.add_runs(number, [[Event("Method::execute", one, 0, chain=-1)] for one in ticks])


@pytest.fixture(scope="module")
def rows():
    store = StoreRows()
    for number in range(1, 7):
        store.add_build(f"b{number}", ordinal=number)
    for device, values in CASES.items():
        _add(store, values, device=device, ns_per_tick=None if device == "ticks" else 1.0)
    for number, value in enumerate([100_000, 100_000, 101_000, 102_000, 103_000, 105_000], 1):
        _add(store, [value] * 8, build=f"b{number}", device="builds")
    return run_by_device(store.connect(), "stability")


@pytest.fixture(scope="module")
def row(rows):
    return {case: rows[case][0] for case in CASES if rows[case]}


def test_eight_dumps_by_hand(row):
    cv, p99, widest = stdev(VALUES) / mean(VALUES), 106_930 / 103_500, 107 / 100
    # Two samples of 8 differ with 99 % certainty from U = 7 on: the interval's upper end is
    # above 56.5 of their 64 differences, and so above 49.4 of the 56 that there are here.
    differences = sorted(np.log(b / a) for a in VALUES for b in VALUES if a != b)
    assert row["eight dumps"] == {
        "device": "eight dumps",
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


def test_noise_within_dumps_is_apart_from_noise_between_them(row):
    assert shown([row["noise within"]], "cv", "max_over_min", "score") == [(0, 1, 100)]
    assert row["noise within"]["run_cv"] == pytest.approx(stdev(NOISY) / mean(NOISY))
    assert row["noise within"]["run_iqr_share"] == pytest.approx(20 / 110)
    assert row["noise within"]["run_max_over_min"] == pytest.approx(1.2)
    assert row["noise within"]["run_p99_over_p50"] == pytest.approx(120 / 110)


def test_drift_is_the_last_third_against_the_first(row):
    assert row["drift within"]["drift"] == pytest.approx(0.04)
    assert row["drift within"]["note"] == "drifts within dumps"


def test_dumps_that_jump_between_two_levels_are_noted(row):
    levels = row["two levels"]
    assert levels["level_gap"] == pytest.approx(HIGH[4] / VALUES[-1] - 1)
    assert levels["level_steps"] == 3
    assert levels["note"].endswith("dumps run at two levels")
    assert row["one outlier"]["level_gap"] is None
    assert row["three outliers"]["level_gap"] == pytest.approx(0.5, abs=0.01)


def test_noise_that_hides_changes_is_noted_and_more_dumps_show_smaller_changes(row):
    assert row["noise between"]["minimum_detectable"] == pytest.approx(1)
    assert row["noise between"]["note"].startswith("hides changes below 100 %")
    names = ["eight dumps", *(f"eight dumps {times} times" for times in (3, 4, 6))]
    several = [row[name]["minimum_detectable"] for name in names]
    assert several == sorted(several, reverse=True)
    assert several[0] > several[-1]


def test_few_dumps_are_noted_and_show_no_change(row, rows):
    assert shown([row["four dumps"]], "minimum_detectable", "note") == [
        (None, "fewer than 8 dumps")
    ]
    assert shown([row["one dump"]], "cv", "score", "dump_count") == [(None, None, 1)]
    assert rows["short"] == []  # its dump has too few steady runs


def test_clock_of_unknown_rate_has_shares_but_no_times(row):
    assert row["ticks"] == row["eight dumps"] | {"device": "ticks", "p50_ns": None}


def test_drift_over_builds_is_the_last_third_against_the_first(rows):
    found = rows["builds"]
    assert [row["change"] and round(row["change"], 4) for row in found] == [
        None, 0, 0.01, 0.0099, 0.0098, 0.0194,
    ]  # fmt: skip
    assert {(row["build_count"], row["dump_count"]) for row in found} == {(6, 8)}
    assert found[0]["build_step"] == pytest.approx(1 / 101)
    assert found[5]["build_drift"] == pytest.approx(0.04)
    assert {row["note"] for row in found} == {"drifts over builds"}
