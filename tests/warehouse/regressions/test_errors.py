from __future__ import annotations

import numpy as np
import pytest

from tracehouse.warehouse.regressions.baseline import MOST_NIGHTS_TOGETHER, Base, Errors

_UNKNOWN = Base(*[np.zeros(0)] * len(Base._fields))


def base(level, error=0.0, is_split=False):
    """A base of the levels of some series, of which nothing else is known."""
    level = np.asarray(level, float)
    nothing = np.zeros(len(level))
    return _UNKNOWN._replace(
        chosen=np.zeros((1, len(level)), int),
        builds=np.full(len(level), 16),
        raw=level,
        value=level,
        state=nothing,
        reaction=nothing,
        state_error=nothing,
        is_split=np.full(len(level), is_split),
        is_mixed=np.zeros(len(level), bool),
        is_witnessed=np.zeros(len(level), bool),
        raw_error=nothing + error,
        residual_error=nothing + np.inf,
    )


def made(errors, builds, family=None, levels=None):
    """Errors of some series, a row per build; of one family, if nothing else is said."""
    kept = Errors(np.zeros(len(errors[0]), np.int64) if family is None else family, builds)
    for build, row in enumerate(errors):
        raw = np.asarray(row, float)
        level = np.zeros(len(raw)) if levels is None else levels[build]
        kept.add(build, raw, raw, np.zeros(len(raw)), base(level))
    return kept


def size(kept, build, count=3):
    """The sizes of so many series, whose values have no states taken out."""
    return kept.complete(build, base(np.zeros(count)), np.arange(count)).raw_error


def in_a_row(kept, build, count=3, is_split=False):
    """The sizes of so many series."""
    known = base(np.zeros(count), size(kept, build, count), is_split)
    return kept.size_over_nights(build, known, np.arange(count))


def doubt(nights):
    """How much larger sizes are taken to be after so many nights in a family that is alike."""
    return 1 + 5.5 / (nights + nights**2 / 2)


def test_the_size_is_the_standard_deviation_of_normal_errors():
    errors = np.random.default_rng(1).normal(0, 0.02, (32, 100))
    found = size(made(errors, 33), 32, 100) / doubt(32)
    assert found.mean() == pytest.approx(0.02, rel=0.03)
    assert (np.abs(found - 0.02) < 0.008).all()


def test_the_error_size_of_a_family_without_errors_is_unknown():
    nothing = made([[np.nan] * 3], 4)
    assert np.isnan(size(nothing, 1)).all()
    assert np.isnan(in_a_row(nothing, 1)).all()


def test_few_own_nights_are_drawn_towards_the_family():
    rows = [[0.01, 0.01, np.nan]] * 20
    rows[-1] = [0.01, 0.01, 0.02]
    found = size(made(rows, 21), 20)
    assert found[0] == pytest.approx(found[1])
    assert found[0] < found[2] < 0.02 * doubt(1)
    other = size(made(rows, 21, np.array([0, 0, 1])), 20)
    assert other[2] == pytest.approx(0.02 * doubt(1))  # alone in its family


def test_later_builds_do_not_count():
    kept = made([[0.01] * 3] * 4 + [[9.0] * 3], 6)
    assert size(kept, 4) == pytest.approx([0.01 * doubt(4)] * 3)


def test_nights_long_ago_do_not_count():
    kept = made([[1.0] * 3] * 5 + [[0.01] * 3] * 32, 38)
    assert size(kept, 37) == pytest.approx([0.01 * doubt(32)] * 3)


def test_an_undetected_change_hardly_enlarges_the_error_size():
    rows = [[0.01 * (-1) ** build] * 3 for build in range(16)]
    rows[7] = [1.0, 0.01, 0.01]
    found = size(made(rows, 17), 16)
    assert 0.011 < found[1] < found[0] < 0.025


def test_nights_that_turned_out_to_be_a_change_leave_the_errors():
    kept = made([[0.01] * 3] * 6 + [[0.3] * 3] * 2, 9)
    for series in range(3):
        kept.forget(series, slice(6, 8))
    assert size(kept, 8) == pytest.approx([0.01 * doubt(6)] * 3)


def test_errors_in_a_row_shrink_if_nights_are_independent_and_not_if_they_resemble():
    signs = np.array([1, -1] * 8)
    alternating = in_a_row(made([[0.01 * sign] * 3 for sign in signs], 17), 16)
    resembling = in_a_row(made([[0.01] * 3] * 16, 17), 16)
    assert alternating.shape == (MOST_NIGHTS_TOGETHER, 3)
    assert alternating[1] == pytest.approx([0.0] * 3, abs=1e-12)
    assert resembling == pytest.approx(np.full((MOST_NIGHTS_TOGETHER, 3), 0.01 * doubt(16)))


def test_nights_count_as_independent_until_two_follow_each_other():
    rows = [[0.01] * 3, [np.nan] * 3, [0.01] * 3]
    found = in_a_row(made(rows, 4), 3)[:, 0]
    assert found == pytest.approx([found[0], found[0] / 2**0.5, found[0] / 3**0.5])


def test_errors_in_a_row_are_those_of_the_series_that_are_asked_for():
    errors = np.random.default_rng(4).normal(0, 0.02, (20, 9))
    kept = made(errors, 21, family=np.array([0, 1, 2] * 3))
    everything = in_a_row(kept, 20, 9)
    for chosen in ([5], [0, 3, 7], [2, 8]):
        known = base(np.zeros(9), size(kept, 20, 9))
        some = kept.size_over_nights(20, known, np.array(chosen))
        assert some.tolist() == everything[:, chosen].tolist()


def test_the_error_from_device_state_is_learned_from_the_familys_nights():
    kept = Errors(np.zeros(3, np.int64), 12)
    state = np.array([0.0, 0.3] * 6)
    for build, moved in enumerate(state.tolist()):
        error = np.array([0.4, -0.4, 0.4]) * moved + 0.002  # beyond a reaction of 1
        kept.add(build, moved + error, moved + error, np.full(3, moved), base(np.zeros(3)))
    known = base(np.zeros(3))._replace(reaction=np.ones(3))
    first, last = (kept.complete(build, known, np.arange(3)) for build in (0, 12))
    assert first.state_error == pytest.approx([0.05] * 3)
    assert last.state_error == pytest.approx([0.3] * 3, abs=0.05)
    assert last.residual_error.max() < 0.02


def test_errors_are_those_of_the_families_of_the_series_that_are_asked_for():
    errors = np.random.default_rng(4).normal(0, 0.02, (20, 9))
    kept, known = made(errors, 21, family=np.array([0, 1, 2] * 3)), base(np.zeros(9))
    known = known._replace(reaction=np.linspace(0.5, 1.5, 9))
    everything, some = (kept.complete(20, known, np.array(own)) for own in ([*range(9)], [1, 5]))
    for name in ("raw_error", "residual_error", "state_error"):
        expected, found = getattr(everything, name), getattr(some, name)
        assert np.isnan(found[[0, 3, 6]]).all()
        assert found[[1, 2, 4, 5, 7, 8]].tolist() == expected[[1, 2, 4, 5, 7, 8]].tolist()


def test_the_more_a_family_is_alike_the_less_one_series_by_itself_counts():
    rng = np.random.default_rng(2)
    drawn = rng.normal(0, 0.02, (20, 12))
    alike = size(made(drawn, 21), 20, 12)
    unlike = size(made(drawn * np.geomspace(0.1, 10, 12), 21), 20, 12) / np.geomspace(0.1, 10, 12)
    assert alike.max() / alike.min() < 1.5
    assert unlike.max() / unlike.min() > 2


def test_errors_in_a_row_are_those_from_the_base_of_the_first_of_them():
    levels = np.repeat(0.01 * np.arange(17.0)[:, None], 3, axis=1)  # the base moves along
    kept = made([[0.01] * 3] * 16, 17, levels=levels)
    one, two, three = in_a_row(kept, 16)
    assert two == pytest.approx(1.5 * one)
    assert three == pytest.approx(2 * one)
    assert in_a_row(kept, 16, is_split=True)[1] == pytest.approx(one)
