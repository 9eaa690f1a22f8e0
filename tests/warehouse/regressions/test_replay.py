from __future__ import annotations

import numpy as np
import pytest

from tests.support.histories import LEVEL, history, night, nights
from tracehouse.warehouse.regressions.baseline import Errors
from tracehouse.warehouse.regressions.nightly import Rules, Status
from tracehouse.warehouse.regressions.replay import replay
from tracehouse.warehouse.statistics.device_states import NO_KERNEL

BEFORE = 12  # nights before the change


def quiet(count, builds, seed=50):
    """As many series in which nothing happens."""
    return [nights(seed + number, [0.0] * builds) for number in range(count)]


def changes(levels, *, others=4, **options):
    """What is told of a series at these levels among others that stay as they are."""
    cells = [nights(1, levels), *quiet(others, len(levels))]
    return replay(history(cells, **options)).changes


def only(found):
    (change,) = found
    return change


def test_a_first_hit_is_a_suspicion():
    change = only(changes([0.0] * BEFORE + [0.15]))
    assert (change.series, change.direction) == (0, 1)
    assert (change.suspected, change.first_bad, change.last_good) == (BEFORE, BEFORE, BEFORE - 1)
    assert change.is_loud
    assert change.confirmed is None
    assert change.fixed is None
    assert change.shift == pytest.approx(0.15, abs=0.02)
    assert change.p_adjusted < 1e-4


@pytest.mark.parametrize("size", [0.15, -0.15])
def test_a_suspicion_is_confirmed_by_the_next_night(size):
    change = only(changes([0.0] * BEFORE + [size] * 2))
    assert (change.suspected, change.confirmed) == (BEFORE, BEFORE + 1)
    assert change.direction == np.sign(size)


def test_a_suspicion_is_cleared_by_a_quiet_night():
    assert changes([0.0] * BEFORE + [0.15, 0.0]) == []


def test_a_cleared_night_returns_to_the_base():
    found = replay(history([nights(1, [0.0] * 4 + [0.15, 0.0, 0.0]), *quiet(4, 7)]))
    assert found.night.base.list_builds(0).tolist() == [*range(6)]


def test_a_suspected_night_is_kept_out_of_the_base():
    found = replay(history([nights(1, [0.0] * BEFORE + [0.15] * 2), *quiet(4, BEFORE + 2)]))
    assert BEFORE not in found.night.base.list_builds(0)
    assert BEFORE in found.night.base.list_builds(1)


def test_a_night_in_the_other_direction_does_not_confirm():
    found = changes([0.0] * BEFORE + [0.15, -0.15])
    assert all(change.confirmed is None for change in found)
    assert all(change.suspected == BEFORE + 1 for change in found)


def test_a_missing_night_neither_confirms_nor_clears():
    waiting = only(changes([0.0] * BEFORE + [0.15, None, None]))
    assert waiting.confirmed is None
    change = only(changes([0.0] * BEFORE + [0.15, None, 0.15]))
    assert (change.suspected, change.confirmed, change.first_bad) == (BEFORE, BEFORE + 2, BEFORE)


def test_a_device_without_the_head_has_no_data_and_stays_suspected():
    cells = [nights(1, [0.0] * BEFORE + [0.15, None]), *quiet(4, BEFORE + 2)]
    found = replay(history(cells, family=[1, 0, 0, 0, 0]))
    assert found.night.status.tolist() == [Status.NO_DATA, *[Status.UNCHANGED] * 4]
    assert [change.series for change in found.changes] == [0]


def by_night(seed, size, **options):
    """What is told of a series that gets slower by this size, as of each night since."""
    cells = [nights(seed, [0.0] * BEFORE + [size] * 4, **options), *quiet(4, BEFORE + 4)]
    cuts = [[row[:stop] for row in cells] for stop in range(BEFORE + 1, BEFORE + 5)]
    return [replay(history(cut)).changes for cut in cuts]


def test_a_small_change_is_watched_silently_and_reported_when_confirmed():
    first, second, *_ = by_night(3, 0.035)
    assert first == []
    change = only(second)
    assert not change.is_loud
    assert (change.suspected, change.confirmed) == (BEFORE, BEFORE + 1)


def test_a_suspicion_may_wait_for_four_nights_at_most():
    *waiting, last = by_night(2, 0.034, wander=0.004)
    assert [only(found).confirmed for found in waiting] == [None] * 3
    assert only(last).confirmed == BEFORE + Rules().most_nights - 1
    *_, impatient = [
        replay(history([nights(2, levels, wander=0.004), *quiet(4, len(levels))]), rules).changes
        for rules in [Rules(most_nights=3)]
        for levels in [[0.0] * BEFORE + [0.034] * 3]
    ]
    assert all(change.suspected > BEFORE for change in impatient)


def test_the_new_level_is_the_base_after_a_confirmation():
    levels = [0.0] * BEFORE + [0.15] * 6
    found = replay(history([nights(1, levels), *quiet(4, len(levels))]))
    assert only(found.changes).confirmed == BEFORE + 1
    assert found.night.status[0] == Status.UNCHANGED
    assert found.night.base.list_builds(0).tolist() == list(range(BEFORE, BEFORE + 5))


def test_two_steps_of_a_series_are_two_changes():
    found = changes([0.0] * BEFORE + [0.15] * 5 + [0.35] * 2)
    assert [(change.first_bad, change.confirmed) for change in found] == [
        (BEFORE, BEFORE + 1),
        (BEFORE + 5, BEFORE + 6),
    ]
    assert [change.fixed for change in found] == [None, None]


def test_a_change_that_is_gone_for_two_nights_is_fixed():
    levels = [0.0] * BEFORE + [0.15] * 4
    assert only(changes([*levels, 0.0])).fixed is None
    change = only(changes([*levels, 0.0, 0.0]))
    assert change.fixed == BEFORE + 4
    assert change.confirmed == BEFORE + 1


def test_a_fix_is_no_improvement_and_later_nights_have_the_old_base():
    levels = [0.0] * BEFORE + [0.15] * 4 + [0.0] * 4
    found = replay(history([nights(1, levels), *quiet(4, len(levels))]))
    assert [change.direction for change in found.changes] == [1]
    used = found.night.base.list_builds(0)
    assert not set(used.tolist()) & set(range(BEFORE, BEFORE + 4))
    assert found.night.status[0] == Status.UNCHANGED


def test_one_night_at_the_old_level_is_no_fix():
    assert only(changes([0.0] * BEFORE + [0.15] * 4 + [0.0, 0.15, 0.15])).fixed is None


def test_the_change_is_placed_where_dumps_are_told_apart_best():
    # The first bad night has too few dumps for a hit of its own.
    levels = [0.0] * BEFORE + [0.15] * 3
    row = nights(1, levels)
    row[BEFORE] = night(77, 0.15, dumps=4)
    change = only(replay(history([row, *quiet(4, len(levels))])).changes)
    assert (change.suspected, change.first_bad, change.last_good) == (
        BEFORE + 1,
        BEFORE,
        BEFORE - 1,
    )
    assert BEFORE not in change.base


def test_the_last_good_build_is_one_with_dumps():
    change = only(changes([0.0] * BEFORE + [None, None, 0.15, 0.15]))
    assert (change.first_bad, change.last_good) == (BEFORE + 2, BEFORE - 1)


def test_a_shift_of_all_operators_of_a_device_is_no_change():
    levels = [0.0, 0.06, -0.05, 0.02, 0.07, -0.06, 0.01, 0.05, -0.03, 0.0, 0.04, -0.04, 0.1, 0.1]
    found = replay(history([nights(number, levels) for number in range(10)]))
    assert found.changes == []
    assert found.shifts[0, -1] == pytest.approx(0.1, abs=0.03)


def test_a_change_during_shifts_of_its_device_is_found():
    levels = [0.0, 0.06, -0.05, 0.02, 0.07, -0.06, 0.01, 0.05, -0.03, 0.0, 0.04, -0.04, 0.06, 0.05]
    slower = [*levels[:-2], levels[-2] + 0.2, levels[-1] + 0.2]
    cells = [nights(20, slower), *(nights(number, levels) for number in range(10))]
    change = only(replay(history(cells)).changes)
    assert (change.series, change.is_residual, change.first_bad) == (0, True, 12)
    assert change.shift == pytest.approx(0.2, abs=0.03)


def test_a_method_that_slows_down_in_all_its_operators_is_one_change_of_the_method():
    levels = [0.0] * BEFORE + [0.15] * 2
    cells = [nights(number, levels) for number in range(8)]
    change = only(replay(history(cells, kernel=[NO_KERNEL, *range(7)])).changes)
    assert (change.series, change.confirmed, change.is_residual) == (0, BEFORE + 1, False)
    few = [0.0] * 6 + [0.15] * 2  # whose frame is quieter cannot be told yet
    cells = [nights(number, few) for number in range(8)]
    assert replay(history(cells, kernel=[NO_KERNEL, *range(7)])).changes == []


def test_a_shared_shift_of_only_two_operators_is_no_run_shift():
    levels = [0.0] * BEFORE + [0.15] * 2
    found = replay(history([nights(number, levels) for number in range(2)]))
    assert [change.series for change in found.changes] == [0, 1]
    assert not found.shifts.any()


def test_containers_do_not_explain_their_own_change():
    levels = [0.0] * BEFORE + [0.15] * 2
    cells = [nights(number, levels) for number in range(7)]
    found = replay(history(cells, kernel=[NO_KERNEL] * 7))
    assert len(found.changes) == 7


def test_the_verdict_as_of_a_build_does_not_depend_on_later_builds():
    levels = [0.0] * BEFORE + [0.15] * 4 + [0.0] * 3
    cells = [nights(1, levels), nights(2, levels[::-1]), *quiet(4, len(levels))]
    for stop in (BEFORE + 2, len(levels)):
        cut = [row[:stop] for row in cells]
        as_of = replay(history(cut))
        emptied = [[*row[:stop], *[[]] * (len(levels) - stop)] for row in cells]
        later = replay(history(emptied))
        assert repr(as_of.changes) == repr(later.changes)


def test_nights_without_a_change_are_silent():
    found = [
        change
        for seed in range(3)
        for change in replay(history(quiet(10, 30, seed=seed * 40))).changes
        if change.confirmed is not None
    ]
    assert found == []


def test_one_night_alone_has_too_few_builds_to_judge():
    found = replay(history([[night(1)]]))
    assert found.changes == []
    assert found.night.status.tolist() == [Status.NEEDS_MORE_BUILDS]
    assert found.cells.median == pytest.approx(np.array([[LEVEL]]))


@pytest.mark.parametrize("seed", range(6))
def test_errors_of_families_without_a_tested_series_make_no_difference(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    levels = rng.choice([0.0, 0.0, 0.0, 0.1], (9, 5)).repeat(5, axis=1)
    known = history(
        [nights(9 * seed + number, row.tolist()) for number, row in enumerate(levels)],
        family=np.repeat([0, 1, 2], 3),
    )
    found = replay(known)
    assert found.changes

    def complete_all(self, build, base, series, complete=Errors.complete):
        return complete(self, build, base, np.arange(len(base.raw)))

    monkeypatch.setattr(Errors, "complete", complete_all)
    whole = replay(known)
    for one, other in zip(found.changes, whole.changes, strict=True):
        assert str(vars(one)) == str(vars(other))
    assert found.night.status.tolist() == whole.night.status.tolist()
    assert found.night.base.error.tolist() == whole.night.base.error.tolist()


def test_a_shift_is_found_although_the_share_of_slow_dumps_was_suspected():
    """A load time with two modes, more of them slow in one night; then it is six times as long."""
    rng = np.random.default_rng(11)
    slow = [2, 3, 2, 1, 2, 3, 2, 2, 1, 2, 3, 2, 7]
    cells = [LEVEL + 0.3 * (np.arange(10) < count) + rng.normal(0, 0.01, 10) for count in slow]
    cells += [LEVEL + np.log(6) + rng.normal(0, 0.01, 10) for _ in range(3)]
    first = replay(history([cells[:14]], kernel=[NO_KERNEL]))
    assert [(each.suspected, each.is_loud) for each in first.changes] == [(13, True)]
    (change,) = replay(history([cells[:15]], kernel=[NO_KERNEL])).changes
    assert (change.first_bad, change.confirmed) == (13, 14)
    assert np.exp(change.shift) == pytest.approx(6, rel=0.1)


@pytest.mark.parametrize("seed", range(5))
def test_a_creep_below_the_smallest_change_per_night_is_found(seed):
    """+1.5 % a night for six nights: no night is 3 % from the one before."""
    creep = np.log(1.015) * np.clip(np.arange(BEFORE + 8) - BEFORE + 1, 0, 6)
    cells = [nights(seed, creep.tolist()), *quiet(6, len(creep), seed=60 + 10 * seed)]
    found = replay(history(cells)).changes
    assert {(each.series, each.direction) for each in found} == {(0, 1)}
    first = found[0]
    assert first.confirmed is not None
    assert BEFORE <= first.first_bad < first.confirmed <= BEFORE + 5


def _in_modes(slow):
    """Nights of one series, of whose ten dumps so many run at the slower of two speeds."""
    rng = np.random.default_rng(21)
    return [LEVEL + 0.3 * (np.arange(10) < count) + rng.normal(0, 0.01, 10) for count in slow]


def test_a_mode_seen_in_earlier_nights_is_no_change():
    before = [0, 1, 0, 9, 1, 0, 1, 0, 10, 0, 1, 0, 1, 0, 1, 0]
    for nights_ in (2, 3, 4):
        cells = [_in_modes([*before, *[9] * nights_])]
        found = replay(history(cells, kernel=[NO_KERNEL])).changes
        assert [each for each in found if each.confirmed is not None] == []


def test_a_mode_that_no_night_was_in_is_confirmed_in_its_third_night():
    before = [2, 1, 2, 1, 2, 2, 1, 2, 1, 2, 2, 1, 2, 1, 2, 2]
    (change,) = replay(history([_in_modes([*before, *[10] * 4])], kernel=[NO_KERNEL])).changes
    assert (change.first_bad, change.confirmed) == (16, 18)
