from __future__ import annotations

import re

import numpy as np
import pytest

from tests.support.documents import ROOT
from tests.support.histories import LEVEL, history, night, nights
from tracehouse.warehouse.regressions.baseline import Bases
from tracehouse.warehouse.regressions.fleet import summarise_cells
from tracehouse.warehouse.regressions.nightly import (
    Rules,
    Status,
    adjust_p,
    choose_series,
    compare_night,
    judge_night,
)
from tracehouse.warehouse.regressions.states import StateCells, summarise_states
from tracehouse.warehouse.statistics.device_states import NO_KERNEL, NightValues

QUIET = 0.002  # how far builds have been from their bases, where a test says nothing else


def judge(cells, **options):
    """What the last night of these series says against all before it."""
    known, base, choice = choose(cells, **options)
    found = compare_night(known, known.build_count - 1, choice.tested, base)
    return judge_night(known, choice, found, base, Rules())


def choose(cells, *, states=None, raw_error=QUIET, residual_error=QUIET, **changes):
    """The series of the last night that are worth a test, and their base.

    `states` are those of the device, night by night; else there are none.
    """
    known = history(cells, **changes)
    head = known.build_count - 1
    states = np.zeros(known.build_count) if states is None else np.asarray(states, float)
    known.states[:] = np.repeat(np.tile(states, known.series_count), np.diff(known.start))
    summaries, found = summarise_cells(known), summarise(known)
    base = Bases(summaries, found, Rules().base_builds).find(head)
    errors = (np.full(known.series_count, error) for error in (raw_error, residual_error))
    moved = found.state[head] - base.state
    base = base._replace(raw_error=next(errors), residual_error=next(errors), moved=moved)
    level = found.value[head] - base.reaction * found.state[head]
    return known, base, choose_series(known, summaries, level, head, base, Rules())


def summarise(known):
    """What the states of a history say of its series."""
    cells = StateCells.empty((known.build_count, known.series_count))
    owner = np.repeat(np.arange(len(known.start) - 1), np.diff(known.start))
    for build in range(known.build_count):
        here = np.flatnonzero(owner % known.build_count == build)
        own = owner[here] // known.build_count
        values = NightValues(own, np.arange(len(here)), known.values[here], len(here))
        summarise_states(cells, build, values, known.states[here], np.ones(known.series_count))
    return cells


def status(cells, **options):
    return [Status(value).name for value in judge(cells, **options).status.tolist()]


def test_a_slower_and_a_faster_series_hit_and_a_quiet_one_does_not():
    cells = [nights(1, [0.0] * 6 + [last]) for last in (0.1, -0.1, 0.0)]
    found = judge(cells)
    assert found.status.tolist() == [Status.HIT, Status.HIT, Status.UNCHANGED]
    assert found.direction.tolist() == [1, -1, 0]
    assert found.tested.tolist() == [0, 1]
    assert found.comparison.shift == pytest.approx([0.1, -0.1], abs=0.01)
    assert choose(cells)[2].family_size.tolist() == [3, 3, 3]


def test_a_change_below_the_minimum_is_no_change():
    cells = [nights(1, [0.0] * 6 + [0.06], wander=0)]
    assert status(cells, min_change=[0.07]) == ["UNCHANGED"]
    assert status(cells, min_change=[0.03]) == ["HIT"]


@pytest.mark.parametrize("base", [10_000, 100_000, 1_000_000, 123_400])
def test_a_change_by_exactly_the_minimum_is_a_hit(base):
    cells = [[*[np.full(10, np.log(base))] * 6, np.full(10, np.log(base * 103 // 100))]]
    assert status(cells, min_change=[0.03], raw_error=1e-6) == ["HIT"]


def test_half_a_tick_is_no_change():
    cells = [nights(1, [0.0] * 6 + [0.06], wander=0)]
    assert status(cells, half_tick=[0.07 * np.exp(LEVEL)]) == ["UNCHANGED"]


def test_a_difference_within_the_noise_between_builds_is_no_change():
    cells = [nights(1, [0.0] * 6 + [0.06], wander=0)]
    assert status(cells, raw_error=0.02, residual_error=0.02) == ["WITHIN_BUILD_NOISE"]
    assert status(cells, raw_error=0.015, residual_error=0.015) == ["HIT"]


@pytest.mark.parametrize(
    ("builds", "dumps", "head", "expected"),
    [
        (6, 10, 0, "NO_DATA"),
        (1, 30, 10, "NEEDS_MORE_BUILDS"),
        (2, 3, 10, "NEEDS_MORE_DUMPS"),  # 6 of the base, 8 wanted
        (6, 10, 4, "NEEDS_MORE_DUMPS"),
        (2, 10, 7, "NEEDS_MORE_DUMPS"),  # of a head of fewer than 8, a base of 24 is wanted
        (3, 10, 7, "HIT"),
        (2, 4, 8, "HIT"),
        (6, 10, 5, "HIT"),
    ],
)
def test_a_hit_requires_enough_builds_and_dumps(builds, dumps, head, expected):
    base = [night(number, dumps=dumps) for number in range(builds)]
    assert status([[*base, night(99, 0.2, dumps=head)]]) == [expected]


def test_dumps_that_could_not_show_anything_in_so_large_a_family_are_too_few():
    cells = [[*(night(number, dumps=4) for number in range(6)), night(9, 0.2, dumps=5)]]
    assert status(cells) == ["HIT"]
    assert set(status(cells * 1200)) == {"NEEDS_MORE_DUMPS"}


def test_values_below_the_clock_resolution_are_not_compared():
    cells = [nights(1, [0.0] * 6 + [0.5])]
    assert status(cells, floor=[LEVEL + 1]) == ["BELOW_RESOLUTION"]
    assert status(cells, floor=[LEVEL - 1]) == ["HIT"]


def test_the_state_of_the_device_explains_a_change_away():
    cells = [nights(number, [0.0] * 6 + [0.1]) for number in range(2)]
    noisy = {"raw_error": 0.02, "residual_error": 0.002}
    assert status(cells, states=[0.0] * 6 + [0.1], **noisy) == ["EXPLAINED_BY_RUN_SHIFT"] * 2


def test_a_change_beyond_the_device_state_is_a_hit():
    cells, states = [nights(1, [0.0] * 6 + [0.3])], [0.0] * 6 + [0.05]
    found = judge(cells, states=states, raw_error=0.02, residual_error=0.002)
    assert found.status.tolist() == [Status.HIT]
    assert found.comparison.shift == pytest.approx([0.25], abs=0.01)
    assert choose(cells, states=states)[2].raw_moved == pytest.approx([0.3], abs=0.01)


def test_a_state_that_is_new_may_move_operators_further():
    cells, states = [nights(1, [0.0] * 6 + [0.3])], [0.0] * 6 + [0.2]
    assert status(cells, states=states, raw_error=0.02) == ["WITHIN_BUILD_NOISE"]
    states = [0.0, 0.2] * 3 + [0.2]  # it is not new any more
    cells = [nights(1, [0.0, 0.2] * 3 + [0.3])]
    assert status(cells, states=states, raw_error=0.05) == ["HIT"]


def test_a_change_seen_only_without_the_device_state_is_a_hit():
    cells = [nights(1, [0.0] * 6 + [0.001])]
    found = judge(cells, states=[0.0] * 6 + [-0.1], raw_error=0.02, residual_error=0.002)
    assert found.direction.tolist() == [1]


@pytest.mark.parametrize(
    ("kernel", "state", "expected"),
    [
        (0, 0.09, "EXPLAINED_BY_RUN_SHIFT"),
        (0, 0.02, "HIT"),  # 0.08 more than the state, 0.03 count
        (NO_KERNEL, 0.09, "HIT"),  # a method has nobody to stand out from
    ],
)
def test_an_operator_that_moves_as_its_device_does_is_not_called(kernel, state, expected):
    cells, states = [nights(1, [0.0] * 8 + [0.1])], [0.0] * 8 + [state]
    assert status(cells, kernel=[kernel], states=states) == [expected]


def test_an_operator_that_moves_as_its_device_does_is_not_watched():
    cells = [nights(1, [0.0] * 8 + [0.1])]
    assert judge(cells, states=[0.0] * 8 + [0.09]).direction.tolist() == [0]
    assert judge(cells, states=[0.0] * 8 + [0.02]).direction.tolist() == [1]


def test_a_change_slightly_below_the_minimum_is_watched():
    cells = [nights(1, [0.0] * 6 + [0.025], wander=0)]  # of 0.03 that count, 0.021 are watched
    found = judge(cells)
    assert found.status.tolist() == [Status.UNCHANGED]
    assert found.direction.tolist() == [1]
    smaller = judge([nights(1, [0.0] * 6 + [0.018], wander=0)])
    assert smaller.direction.tolist() == [0]


def test_the_other_mode_is_tested_although_the_medians_agree():
    def two_modes(seed, fast=0.0):
        values = np.asarray(night(seed, dumps=11))
        return [*(values[:5] + fast), *(values[5:] + 0.3)]

    cells = [[*(two_modes(number) for number in range(6)), two_modes(9, fast=0.1)]]
    assert judge(cells).tested.tolist() == [0]


def plain_adjust(p, size):
    """Benjamini-Hochberg in one family, the untested ones at p = 1."""
    everything = sorted([*p, *[1.0] * (size - len(p))])
    scaled = [value * size / (rank + 1) for rank, value in enumerate(everything)]
    return [min(min(scaled[everything.index(value) :]), 1.0) for value in p]


def test_p_is_adjusted_in_each_family_by_itself():
    p = np.array([0.01, 0.5, 0.001, 0.02, 0.01, 0.9])
    family = np.array([0, 0, 0, 1, 1, 1])
    size = np.array([5, 5, 5, 3, 3, 3])
    found = adjust_p(p, family, size)
    assert found[:3] == pytest.approx(plain_adjust(p[:3].tolist(), 5))
    assert found[3:] == pytest.approx(plain_adjust(p[3:].tolist(), 3))


def test_series_that_were_not_tested_count_as_if_p_were_higher():
    alone = adjust_p(np.array([0.02]), np.array([0]), np.array([10]))
    assert alone.tolist() == [0.2]
    assert adjust_p(np.array([]), np.array([], np.int64), np.array([])).tolist() == []


def test_the_documented_rules_match_the_code():
    text = (ROOT / "docs" / "nightly-rule.md").read_text(encoding="utf-8")
    shown = {name: float(value) for name, value in re.findall(r"\| `(\w+)` \| ([\d.]+) \|", text)}
    assert shown == Rules()._asdict()
