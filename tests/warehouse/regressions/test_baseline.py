from __future__ import annotations

import numpy as np
import pytest

from tests.support.histories import LEVEL, history, nights
from warehouse.regressions.baseline import find_base
from warehouse.regressions.history import summarise_cells


def test_the_base_is_the_last_usable_builds_that_have_dumps():
    levels = [0.0, 0.1, 0.2, None, 0.4, 0.5, 0.6]
    known = history([nights(1, levels, wander=0)])
    usable = np.array([[True, True, True, True, False, True]])
    base = find_base(known, summarise_cells(known), np.zeros((1, 7)), usable, 3)
    assert base.chosen.tolist() == [[False, True, True, False, False, True]]
    assert (base.builds.tolist(), base.dumps.tolist()) == ([3], [30])
    assert base.raw == pytest.approx([LEVEL + 0.2])


def test_the_shifts_of_a_family_are_taken_from_the_base():
    known = history([nights(1, [0.0, 0.5, 0.0], wander=0)])
    shifts = np.array([[0.0, 0.5, 0.0]])
    base = find_base(known, summarise_cells(known), shifts, np.ones((1, 2), bool), 8)
    assert base.framed == pytest.approx([LEVEL])
    assert base.raw == pytest.approx([LEVEL + 0.25])


def test_a_series_without_a_base_has_no_level():
    known = history([nights(1, [None, None, 0.0])])
    base = find_base(known, summarise_cells(known), np.zeros((1, 3)), np.ones((1, 2), bool), 8)
    assert base.builds.tolist() == [0]
    assert np.isnan(base.raw[0])
