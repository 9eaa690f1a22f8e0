from __future__ import annotations

import numpy as np
import pytest

from tests.support.histories import series
from warehouse.regressions.common_shift import common_shift, find_voters
from warehouse.regressions.history import NO_KERNEL

NAN = np.nan


def shift(moved, *, spread=None, count=10.0, families=1, **changes):
    known = series(len(moved), **changes)
    spreads = np.full(len(moved), 0.02) if spread is None else np.array(spread)
    counts = np.full(len(moved), count)
    return common_shift(find_voters(known), np.array(moved), spreads, counts, families).tolist()


def test_the_shift_is_what_the_middle_kernel_moved():
    assert shift([0.05, 0.05, 0.05, 0.05, 0.3, -0.2]) == [0.05]


@pytest.mark.parametrize(("kernels", "expected"), [(5, 0.0), (6, 0.1)])
def test_fewer_than_six_kernels_have_no_common_shift(kernels, expected):
    assert shift([0.1] * kernels) == [expected]


def test_operators_of_one_kernel_have_one_vote():
    kernel = [0] * 20 + [1, 2, 3, 4, 5]
    assert shift([0.2] * 20 + [0.01] * 5, kernel=kernel) == [0.01]


def test_the_vote_of_a_kernel_is_the_median_of_its_operators():
    kernel = [0, 0, 0, 1, 2, 3, 4, 5]
    moved = [0.9, 0.05, 0.04, 0.0, 0.0, 0.1, 0.1, 0.1]
    assert shift(moved, kernel=kernel) == [0.05]


def test_a_kernel_that_is_known_well_weighs_more():
    moved, spread = [0.1] * 3 + [0.0] * 4, [0.02] * 3 + [0.5] * 4
    assert shift(moved, spread=spread) == [0.1]
    assert shift(moved) == [0.0]


def test_what_only_holds_others_and_what_is_unknown_has_no_vote():
    kernel = [NO_KERNEL] * 9 + list(range(6))
    assert shift([0.5] * 9 + [0.02] * 6, kernel=kernel) == [0.02]
    assert shift([0.02] * 5 + [NAN] * 4) == [0.0]
    assert shift([NAN] * 3, families=2) == [0.0, 0.0]


def test_each_family_has_its_own_shift_and_kernels():
    family = [0] * 6 + [1] * 6 + [2] * 3
    moved = [0.02] * 6 + [-0.04] * 6 + [0.5] * 3
    kernel = [*range(6), *range(6), *range(3)]
    found = shift(moved, family=family, kernel=kernel, families=3)
    assert found == [0.02, -0.04, 0.0]
