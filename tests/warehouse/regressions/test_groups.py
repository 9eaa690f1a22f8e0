from __future__ import annotations

import numpy as np
import pytest

from tests.support.histories import history, nights
from tracehouse.warehouse.regressions.changes import (
    LevelChange,
    SeriesPlace,
    group_changes,
    keep_decided,
)
from tracehouse.warehouse.regressions.replay import replay


def grouped(changes, places, builds):
    return group_changes(changes, places, builds)


BUILDS = [f"b{number}" for number in range(20)]


def change(series, first_bad, *, direction=1, confirmed=True, **fields):
    values = {
        "series": series,
        "direction": direction,
        "suspected": first_bad,
        "first_bad": first_bad,
        "last_good": first_bad - 1,
        "base": np.arange(first_bad),
        "is_loud": True,
        "is_residual": False,
        "shift": 0.1 * direction,
        "errors": [],
        "p_adjusted": 0.001,
        "own_reaction": 1.0,
        "state_error": 0.0,
        "confirmed": first_bad + 1 if confirmed else None,
    }
    return LevelChange(**values | fields)


def place(family=0, operator="conv.out", *, model=None, level=0):
    """Where a series is; by default each operator type is of a model of its own."""
    return SeriesPlace(family, model or f"net of {operator}", operator, level)


def members(groups):
    return [[change.series for change in group.changes] for group in groups]


def test_builds_are_counted_and_not_their_sessions():
    """Each build has three sessions; the devices changed in different ones of the same build."""
    builds = [f"b{number // 3}" for number in range(30)]
    places = [place(0), place(1), place(2)]
    found = grouped([change(0, 15), change(1, 17), change(2, 21)], places, builds)
    assert members(found) == [[0, 1, 2]]
    assert (found[0].first_bad, builds[found[0].first_bad]) == (15, "b5")
    far = grouped([change(0, 15), change(1, 24)], places, builds)
    assert members(far) == [[0], [1]]


def test_one_cause_on_forty_devices_is_one_group():
    levels = [0.0] * 10 + [0.15] * 2
    cells, places = [], []
    for device in range(40):
        cells += [nights(device, levels), nights(100 + device, [0.0] * 12)]
        places += [place(device), place(device, "relu.out")]
    families = [where.family for where in places]
    found = replay(history(cells, family=families, kernel=[0, 1] * 40))
    (group,) = grouped(found.changes, places, BUILDS[:12])
    assert len(group.changes) == 40
    assert (group.first_bad, group.last_good, group.direction) == (10, 9, 1)
    assert group.operators == ("conv.out",)


def test_operators_directions_and_far_nights_are_apart():
    places = [place(), place(operator="relu.out"), place(), place()]
    changes = [change(0, 5), change(1, 5), change(2, 5, direction=-1), change(3, 9)]
    groups = grouped(changes, places, BUILDS)
    assert members(groups) == [[2], [0], [1], [3]]
    assert len({group.id for group in groups}) == 4


def test_a_wider_layer_is_one_group_of_two_operator_types_on_two_backends():
    names = ("conv.out", "relu.out", "Convolution (NHWC)", "Clamp (NHWC)")
    places = [place(number // 2, name, model="net") for number, name in enumerate(names)]
    (group,) = grouped([change(number, 5) for number in range(4)], places, BUILDS)
    assert members([group]) == [[0, 1, 2, 3]]
    assert group.operators == tuple(sorted(names))


def test_one_cause_on_forty_devices_three_models_and_two_backends_is_one_group():
    places = [
        place(number, name, model=f"net{number % 3}")
        for number in range(120)
        for name in ("conv.out", "Convolution (NHWC)")
    ]
    changes = [change(number, 5) for number in range(240)]
    assert len(grouped(changes, places, BUILDS)) == 1
    assert len(grouped(changes[::-1], places, BUILDS)) == 1


def test_different_operator_types_of_different_models_are_separate_groups():
    places = [place(0, "conv.out", model="a"), place(1, "relu.out", model="b")]
    assert members(grouped([change(0, 5), change(1, 5)], places, BUILDS)) == [[0], [1]]


def test_another_operator_type_of_a_model_is_apart_from_the_next_build_on():
    places = [place(0, "conv.out", model="a"), place(0, "relu.out", model="a")]
    assert members(grouped([change(0, 5), change(1, 6)], places, BUILDS)) == [[0], [1]]
    assert members(grouped([change(0, 5), change(1, 5, direction=-1)], places, BUILDS)) == [
        [0],
        [1],
    ]


def test_models_that_share_operator_types_by_a_chain_are_of_one_cause():
    where = [("conv.out", "a"), ("conv.out", "b"), ("relu.out", "b"), ("relu.out", "c")]
    places = [place(n, name, model=model) for n, (name, model) in enumerate(where)]
    (group,) = grouped([change(number, 5) for number in range(4)], places, BUILDS)
    assert len(group.changes) == 4


def test_neighbouring_nights_are_of_one_cause_and_chains_of_them_are_not():
    places = [place(number) for number in range(5)]
    changes = [change(0, 5), change(1, 7), change(2, 9), change(3, 12), change(4, 13)]
    assert members(grouped(changes, places, BUILDS)) == [[0, 1], [2], [3, 4]]


def test_a_group_begins_where_most_of_its_members_do():
    places = [place(number) for number in range(4)]
    changes = [change(0, 5), change(1, 6), change(2, 6), change(3, 6, last_good=4)]
    (group,) = grouped(changes, places, BUILDS)
    assert (group.first_bad, group.last_good) == (6, 5)
    even = grouped([change(0, 5), change(1, 6)], places, BUILDS)
    assert even[0].first_bad == 5


def test_containers_are_explained_by_the_operators_in_them():
    places = [place(), place(operator="Method::execute", level=2)]
    (group,) = grouped([change(1, 6), change(0, 5)], places, BUILDS)
    assert members([group]) == [[0]]
    assert [one.series for one in group.explains] == [1]


def test_a_container_may_be_explained_by_several_groups():
    places = [place(), place(operator="relu.out"), place(operator="total", level=2)]
    groups = grouped([change(number, 5) for number in range(3)], places, BUILDS)
    assert [[one.series for one in group.explains] for group in groups] == [[2], [2]]


def test_a_container_alone_is_a_group_of_its_own():
    def total(family=0):
        return place(family, "total", level=2)

    other_family = grouped([change(0, 5), change(1, 5)], [place(1), total()], BUILDS)
    assert members(other_family) == [[0], [1]]
    other_way = [change(0, 5, direction=-1), change(1, 5)]
    assert members(grouped(other_way, [place(), total()], BUILDS)) == [[0], [1]]
    other_time = [change(0, 5), change(1, 8)]
    assert members(grouped(other_time, [place(), total()], BUILDS)) == [[0], [1]]


JOINING = [
    place(n, name, model="net")
    for n, name in enumerate(("relu.out", "conv.out", "Convolution (NHWC)"))
]
GROWING = {
    "other operator types and backends join": (
        JOINING, [change(0, 5)], [change(0, 5), change(1, 5, suspected=6)],
        [change(0, 5), change(1, 5, suspected=6), change(2, 5, suspected=7)],
    ),
    "the suspicion is confirmed and others join": (
        [place(0), place(1), place(2)], [change(0, 5, confirmed=False)],
        [change(0, 5), change(1, 6, confirmed=False)], [change(0, 5), change(1, 6), change(2, 7)],
    ),
    "the change turns out to be older": (
        [place()], [change(0, 5, confirmed=False)], [change(0, 3, suspected=5)],
    ),
    "a watched series with an older suspicion is confirmed": (
        [place(0), place(1)], [change(1, 6)],
        [change(0, 5, is_loud=False, confirmed=8), change(1, 6)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", GROWING)
def test_the_id_of_a_group_stays_while(case):
    places, *nights = GROWING[case]
    groups = [grouped(changes, places, BUILDS) for changes in nights]
    assert [len(each) for each in groups] == [1] * len(nights)
    assert len({each[0].id for each in groups}) == 1


def test_the_id_does_not_depend_on_numbers_of_series_and_nights():
    (one,) = grouped([change(0, 5)], [place()], BUILDS)
    shifted = ["earlier", *BUILDS]
    (other,) = grouped([change(3, 6)], [place(7)] * 4, shifted)
    assert one.id == other.id


def test_two_groups_of_one_name_have_two_ids():
    changes = [change(0, 1, suspected=5), change(1, 5)]
    first, second = grouped(changes, [place(0), place(1)], BUILDS)
    assert second.id == f"{first.id}-2"


def test_groups_come_in_the_order_of_their_builds():
    places = [place(operator="z"), place(operator="a"), place(operator="a")]
    groups = grouped([change(0, 4), change(1, 9), change(2, 4)], places, BUILDS)
    assert [(group.first_bad, *group.operators) for group in groups] == [
        (4, "a"),
        (4, "z"),
        (9, "a"),
    ]


def test_grouping_no_changes_gives_no_groups():
    assert grouped([], [], []) == []


def test_a_method_is_explained_by_a_delegate_call_and_a_cold_start_by_the_method():
    places = [place(operator=name, level=level) for level, name in ((2, "m"), (1, "d"), (3, "c"))]
    (group,) = grouped([change(number, 5) for number in range(3)], places, BUILDS)
    assert members([group]) == [[1]]
    assert [one.series for one in group.explains] == [0, 2]
    (group,) = grouped([change(0, 5), change(2, 5)], places, BUILDS)
    assert members([group]) == [[0]]
    assert [one.series for one in group.explains] == [2]


def test_a_decision_about_a_later_build_counts_and_only_once():
    places = [place(), place(operator="relu.out")]
    (late,) = grouped([change(0, 6)], places, BUILDS)
    (early,) = grouped([change(0, 5)], places, BUILDS)
    assert early.id != late.id
    assert keep_decided([early], BUILDS, {late.id}) == [early._replace(id=late.id)]
    assert keep_decided([early], BUILDS, {early.id, late.id}) == [early]
    assert keep_decided([early, late], BUILDS, {late.id}) == [early, late]
    faster, other = (
        grouped([one], places, BUILDS)[0] for one in (change(0, 5, direction=-1), change(1, 5))
    )
    assert keep_decided([faster, other], BUILDS, {late.id}) == [faster, other]
    assert keep_decided([late], BUILDS, {early.id}) == [late]
