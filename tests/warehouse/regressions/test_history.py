from __future__ import annotations

import numpy as np

from tests.support.histories import history
from tracehouse.warehouse.regressions.fleet import gather_values, summarise_cells

CELLS = [
    [[3.0, 1.0, 2.0], [], [5.0]],
    [[4.0, 8.0], [7.0, 6.0, 7.0, 7.5], []],
]


def test_values_lie_by_series_and_night_in_ascending_order():
    found = history(CELLS)
    assert found.values.tolist() == [1, 2, 3, 5, 4, 8, 6, 7, 7, 7.5]
    assert found.start.tolist() == [0, 3, 3, 4, 6, 10, 10]
    assert (found.series_count, found.build_count, found.family_count) == (2, 3, 1)


def test_cells_are_counted_and_summarised():
    cells = summarise_cells(history(CELLS))
    assert cells.dump_count.tolist() == [[3, 0, 1], [2, 4, 0]]
    np.testing.assert_array_equal(cells.median, [[2, np.nan, 5], [6, 7, np.nan]])
    robust = [[1.4826, np.nan, 0], [1.4826 * 2, 1.4826 * 0.25, np.nan]]
    np.testing.assert_allclose(cells.spread, robust)


def test_a_night_is_split_by_a_gap_that_is_not_at_its_ends():
    modes, outlier, close = [1, 1.01, 1.2, 1.21], [1, 1.01, 1.02, 1.2], [1, 1.07, 1.14, 1.21]
    cells = summarise_cells(history([[modes, outlier, close, [1, 2], []]]))
    assert cells.is_split.tolist() == [[True, False, False, False, False]]


def test_a_history_without_values_has_empty_nights():
    cells = summarise_cells(history([[[], []]]))
    assert cells.dump_count.tolist() == [[0, 0]]
    assert np.isnan(cells.median).all()


def test_chosen_nights_are_gathered_without_their_states():
    chosen = np.array([[True, True, False], [True, True, False]])
    known = history(CELLS)
    known.states[:] = 0.5
    found = gather_values(known, np.array([0, 1]), chosen, np.array([1.0, 2.0]))
    nothing = [np.nan] * 3
    np.testing.assert_array_equal(found, [[0.5, 1.5, 2.5, *nothing], [3, 7, 5, 6, 6, 6.5]])


def test_nights_at_the_end_may_be_left_out_of_the_choice():
    found = gather_values(history(CELLS), np.array([1]), np.array([[True]]), np.zeros(1))
    assert found.tolist() == [[4, 8]]
    nothing = gather_values(history(CELLS), np.array([0]), np.array([[False]]), np.zeros(1))
    assert np.isnan(nothing).all()
