from __future__ import annotations

import re

import numpy as np
import pytest
from warehouse.regressions.shared_moves import SharedMove

from tests.support.documents import ROOT
from tests.support.histories import LEVEL, history, night, nights
from warehouse.regressions.baseline import find_base
from warehouse.regressions.history import NO_KERNEL, summarise_cells
from warehouse.regressions.nightly import Rules, Status, adjust_p, compare_night, judge_night

QUIET = 0.002  # how far builds have been from their bases, where a test says nothing else


def judge(cells, *, common=0.0, reactions=(0.0, 0.0), **options):
    """What the last night of these series says against all before it."""
    known, base, found = compare(cells, **options)
    shared = SharedMove(*(np.full(known.family_count, each) for each in (common, *reactions)))
    return judge_night(known, found, shared, base, Rules())


def compare(cells, *, shifts=None, raw_error=QUIET, framed_error=QUIET, **changes):
    """The last night of these series beside all before it."""
    known = history(cells, **changes)
    head = known.build_count - 1
    summaries = summarise_cells(known)
    if shifts is None:
        shifts = np.zeros((known.family_count, known.build_count))
    usable = np.ones((known.series_count, head), bool)
    base = find_base(known, summaries, shifts, usable, Rules().base_builds)
    errors = (np.full(known.series_count, error) for error in (raw_error, framed_error))
    base = base._replace(raw_error=next(errors), framed_error=next(errors))
    return known, base, compare_night(known, summaries, shifts, head, base, Rules())


def status(cells, **options):
    return [Status(value).name for value in judge(cells, **options).status.tolist()]


def test_a_slower_and_a_faster_series_hit_and_a_quiet_one_does_not():
    cells = [nights(1, [0.0] * 6 + [last]) for last in (0.1, -0.1, 0.0)]
    found = judge(cells)
    assert found.status.tolist() == [Status.HIT, Status.HIT, Status.UNCHANGED]
    assert found.direction.tolist() == [1, -1, 0]
    assert found.tested.tolist() == [0, 1]
    assert found.comparison.shift == pytest.approx([0.1, -0.1], abs=0.01)
    assert compare(cells)[2].family_size.tolist() == [3, 3, 3]


def test_a_change_smaller_than_counts_is_none():
    cells = [nights(1, [0.0] * 6 + [0.06], wander=0)]
    assert status(cells, min_change=[0.07]) == ["UNCHANGED"]
    assert status(cells, min_change=[0.03]) == ["HIT"]


def test_half_a_tick_is_no_change():
    cells = [nights(1, [0.0] * 6 + [0.06], wander=0)]
    assert status(cells, half_tick=[0.07 * np.exp(LEVEL)]) == ["UNCHANGED"]


def test_what_builds_differ_among_themselves_is_no_change():
    cells = [nights(1, [0.0] * 6 + [0.06], wander=0)]
    assert status(cells, raw_error=0.02, framed_error=0.02) == ["WITHIN_BUILD_NOISE"]
    assert status(cells, raw_error=0.015, framed_error=0.015) == ["HIT"]


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
def test_so_many_builds_and_dumps_are_wanted(builds, dumps, head, expected):
    base = [night(number, dumps=dumps) for number in range(builds)]
    assert status([[*base, night(99, 0.2, dumps=head)]]) == [expected]


def test_dumps_that_could_not_show_anything_in_so_large_a_family_are_too_few():
    cells = [[*(night(number, dumps=4) for number in range(6)), night(9, 0.2, dumps=5)]]
    assert status(cells) == ["HIT"]
    assert set(status(cells * 1200)) == {"NEEDS_MORE_DUMPS"}


def test_what_is_below_the_resolution_is_not_compared():
    cells = [nights(1, [0.0] * 6 + [0.5])]
    assert status(cells, floor=[LEVEL + 1]) == ["BELOW_RESOLUTION"]
    assert status(cells, floor=[LEVEL - 1]) == ["HIT"]


def test_a_shift_of_the_whole_family_explains_a_change_away():
    cells = [nights(number, [0.0] * 6 + [0.1]) for number in range(2)]
    shifts = np.array([[0.0] * 6 + [0.1]])
    noisy = {"raw_error": 0.02, "framed_error": 0.002}
    assert status(cells, shifts=shifts, **noisy) == ["EXPLAINED_BY_RUN_SHIFT"] * 2


def test_a_change_beyond_the_shift_is_not_explained():
    cells = [nights(1, [0.0] * 6 + [0.3])]
    shifts = np.array([[0.0] * 6 + [0.1]])
    found = judge(cells, shifts=shifts, raw_error=0.02, framed_error=0.002)
    assert found.status.tolist() == [Status.HIT]
    assert found.comparison.shift == pytest.approx([0.2], abs=0.01)
    compared = compare(cells, shifts=shifts)[2]
    assert compared.raw_moved == pytest.approx([0.3], abs=0.01)
    assert compared.framed_moved == pytest.approx([0.2], abs=0.01)


def test_the_shift_is_not_taken_out_where_that_frame_is_no_quieter():
    cells = [nights(1, [0.0] * 8 + [0.1])]
    shifts = np.array([[0.0] * 8 + [0.1]])
    assert status(cells, shifts=shifts, raw_error=0.002, framed_error=0.002) == ["HIT"]


def test_the_shift_is_taken_out_until_enough_builds_tell_which_frame_is_quieter():
    cells = [nights(1, [0.0] * 6 + [0.1])]
    shifts = np.array([[0.0] * 6 + [0.1]])
    found = status(cells, shifts=shifts, raw_error=0.002, framed_error=0.002)
    assert found == ["EXPLAINED_BY_RUN_SHIFT"]


@pytest.mark.parametrize(
    ("kernel", "common", "expected"),
    [
        (0, 0.09, "EXPLAINED_BY_RUN_SHIFT"),
        (0, 0.05, "HIT"),  # 0.05 more than its family, 0.03 count
        (0, -0.2, "HIT"),
        (NO_KERNEL, 0.09, "HIT"),  # a method has nobody to stand out from
    ],
)
def test_an_operator_that_moves_as_its_whole_family_does_is_not_called(kernel, common, expected):
    cells = [nights(1, [0.0] * 8 + [0.1])]
    assert status(cells, kernel=[kernel], common=common) == [expected]


def test_an_operator_that_moves_as_its_family_does_is_not_watched():
    cells = [nights(1, [0.0] * 8 + [0.1])]
    assert judge(cells, common=0.09).direction.tolist() == [0]
    assert judge(cells, common=0.05).direction.tolist() == [1]


def test_what_the_raw_values_do_not_show_is_never_called():
    cells = [nights(1, [0.0] * 6 + [0.001])]
    shifts = np.array([[0.0] * 6 + [-0.2]])
    found = judge(cells, shifts=shifts, raw_error=0.02, framed_error=0.002)
    assert found.status.tolist() == [Status.UNCHANGED]
    assert found.direction.tolist() == [0]


def test_a_change_too_small_for_a_word_is_watched():
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


def test_the_documented_rules_are_those_that_hold():
    text = (ROOT / "docs" / "regressions.md").read_text(encoding="utf-8")
    shown = {name: float(value) for name, value in re.findall(r"\| `(\w+)` \| ([\d.]+) \|", text)}
    assert shown == Rules()._asdict()
