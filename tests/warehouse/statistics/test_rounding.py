from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from tracehouse.warehouse.statistics.arrays import log_change, reaches


@pytest.mark.parametrize("percent", [1, 3, 7, 10, 15, 29, 57])
def test_an_exact_change_reaches_its_share_and_a_smaller_one_does_not(percent):
    share = float(Decimal(percent) / 100)
    for base in (100, 10_000, 123_400, 10**9):
        head = base * (100 + percent) // 100
        assert reaches(head, (1 + share) * base)
        assert reaches((1 + share) * base, head)
        assert not reaches(head - 1, (1 + share) * base)
        assert np.log(head) - np.log(base) >= log_change(share)
        assert np.log(head - 1) - np.log(base) < log_change(share)


def test_one_byte_beyond_a_large_limit_does_not_reach_it():
    assert not reaches(2e9, 2e9 + 1)
    assert reaches(-1.0, -1.0)


def test_log_change_is_computed_elementwise():
    assert log_change(np.array([0.0, 0.03])) == pytest.approx([0.0, np.log(1.03)])
