from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tracehouse.warehouse.statistics.clock_steps import (
    CLOCKS,
    DELEGATE,
    RUNTIME,
    Readings,
    estimate_steps,
    find_timers,
)

OPERATORS = [800, 1_500, 2_200, 4_000, 9_000, 30_000, 90_000, 240_000, 1_000_000, 3_000_000]
RATES = {41.666_667: 24e6, 52.083_333: 19.2e6, 38.461_538: 26e6, 18.518_519: 54e6}


def timed(step: float, *, operators: list[int] = OPERATORS, noise: float = 0.1, seed: int = 0):
    """Durations that a clock counted in steps and rounded down to whole ticks, per operator."""
    rng = np.random.default_rng(seed)
    start = rng.integers(0, 10**9, (len(operators), 40)).astype(np.float64)
    end = start + np.array(operators)[:, None] * (1 + noise * rng.random(start.shape))
    readings = [np.floor(np.floor(time / step) * step) for time in (start, end)]
    return (readings[1] - readings[0]).astype(np.int64)


def estimate(*clocks: np.ndarray) -> list[float]:
    shortest, longest = (
        np.concatenate([of(one, axis=1) for one in clocks]) for of in (np.min, np.max)
    )
    clock = np.repeat(np.arange(len(clocks)), [len(one) for one in clocks])
    varies = shortest < longest
    readings = Readings(np.tile(clock, 2), np.concatenate([shortest, longest]), np.tile(varies, 2))

    def divide_all(some: np.ndarray) -> np.ndarray:
        return np.array([np.gcd.reduce(clocks[one], axis=None) for one in some.tolist()])

    return estimate_steps(readings, len(clocks), divide_all).tolist()


@pytest.mark.parametrize("step", [5, 10, 40, 1_000, 100_000])
def test_a_step_of_whole_ticks_is_exact(step: int) -> None:
    assert estimate(*(timed(step, seed=seed) for seed in range(20))) == [step] * 20


@pytest.mark.parametrize("step", RATES)
def test_a_step_between_ticks_is_neither_rounded_nor_missed(step: float) -> None:
    found = estimate(*(timed(1e9 / RATES[step], seed=seed) for seed in range(50)))
    assert found == pytest.approx([step] * 50, rel=2e-3)


def test_a_fine_clock_steps_in_ticks() -> None:
    assert estimate(*(timed(1, seed=seed) for seed in range(300))) == [1.0] * 300
    micros = [timed(1, operators=[2_000, 3_000], seed=seed) for seed in range(300)]
    assert estimate(*micros) == [1.0] * 300


def test_clocks_do_not_mix() -> None:
    assert estimate(timed(1_000), timed(1), timed(100_000)) == [1_000, 1, 100_000]


def test_multiples_of_one_step_reveal_a_coarse_clock() -> None:
    assert estimate(np.array([[0, 1_000, 0, 1_000]])) == [1_000]
    assert estimate(np.array([[3_000, 99_000, 4_000]])) == [1_000]
    assert estimate(np.array([[3_000, 6_000], [0, 9_000]])) == [1_000]


@pytest.mark.parametrize("times", [[9_000], [9_000, 1_000, 500], [0], [123_456, 777_000]])
def test_constant_times_do_not_reveal_a_clock_step(times: list[int]) -> None:
    assert estimate(np.array([times]).T.repeat(40, axis=1)) == [1]


def test_few_readings_of_a_small_step_do_not_reveal_a_clock_step() -> None:
    assert estimate(np.array([[120, 180, 240]])) == [1]
    assert estimate(timed(1e9 / 24e6, operators=[2_000, 3_000])) == [1]


def test_few_rounded_readings_do_not_reveal_a_clock_step() -> None:
    step = 1e9 / 32_768
    assert estimate(timed(step, operators=[200_000, 300_000])) == [1]
    operators = [200_000, 300_000, 500_000, 900_000, 1_700_000, 2_400_000]
    assert estimate(timed(step, operators=operators)) == pytest.approx([step], rel=1e-3)


def test_readings_far_longer_than_others_do_not_hide_a_step() -> None:
    operators = [900, 1_100, 1_300, 1_700, 2_100, 2_600, *[10**8 * n for n in (5, 7, 8, 9)]]
    found = estimate(*(timed(1e9 / 24e6, operators=operators, seed=seed) for seed in range(20)))
    assert found == pytest.approx([1e9 / 24e6] * 20, rel=2e-3)


def test_jitter_of_a_tick_does_not_hide_a_coarse_step() -> None:
    rng = np.random.default_rng(3)
    ticks = timed(100_000, operators=[300_000, 500_000, 900_000, 2_000_000, 5_000_000])
    (found,) = estimate(ticks + rng.integers(-1, 2, ticks.shape))
    assert found == pytest.approx(100_000, abs=2)


def test_clocks_without_readings_have_a_step_of_one_tick() -> None:
    nothing = np.zeros(0, np.int64)
    readings = Readings(nothing, nothing, nothing.astype(bool))
    assert estimate_steps(readings, 2, lambda clocks: clocks).tolist() == [1, 1]


def test_events_with_a_unit_and_those_of_no_known_timer_tell_of_no_clock() -> None:
    kinds = ["method", "delegate_op", "delegate_op", "other", "delegate_phase", "kernel"]
    units = [None, None, "us", None, None, "ns"]
    timers = find_timers(pa.table({"kind": kinds, "unit": pa.array(units, pa.string())}))
    assert timers.tolist() == [RUNTIME, DELEGATE, CLOCKS, CLOCKS, CLOCKS, CLOCKS]
