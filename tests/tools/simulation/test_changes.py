"""Planted changes: one per pair of builds at most, each with the effect it is told with."""

from __future__ import annotations

import pytest

from tests.tools.simulation.changes import Change, ChangeKind, describe_effect
from tests.tools.simulation.plan import FarmSize, plan_farm
from tests.tools.simulation.truth import FarmSummary, describe_truth

PLANS = [plan_farm(FarmSize(6, 30, 3, 10, 50), seed) for seed in range(20)]


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.seed)
def test_planned_changes_have_distinct_builds_and_operators_except_for_repairs(plan):
    builds = [change.build for change in plan.changes]
    assert len(set(builds)) == len(builds)
    assert builds == sorted(builds)
    assert min(builds) >= 1
    operators = [
        (change.family, change.origin)
        for change in plan.changes
        if change.kind is not ChangeKind.REPAIR
    ]
    assert len(set(operators)) == len(operators)


def test_every_kind_is_planted_where_builds_are_many():
    for plan in PLANS:
        kinds = {change.kind for change in plan.changes}
        assert kinds == set(ChangeKind)


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.seed)
def test_a_repair_gives_the_time_before_the_regression(plan):
    for change in plan.changes:
        if change.kind is ChangeKind.REPAIR:
            (regression,) = (
                other
                for other in plan.changes
                if (other.family, other.origin) == (change.family, change.origin)
                and other is not change
            )
            assert regression.kind is ChangeKind.REGRESSION
            assert regression.build < change.build
            assert regression.ratio * change.ratio == pytest.approx(1)


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.seed)
def test_truth_tells_from_and_to_which_build_a_change_holds(plan):
    truth = describe_truth(plan, FarmSummary())
    ids = [build.id for build in plan.builds]
    for change, told in zip(plan.changes, truth["changes"], strict=True):
        assert ids.index(told["head"]) == change.build == ids.index(told["base"]) + 1
        assert ids.index(told["last_build"]) >= change.build
        assert (told["pool"] is not None) == (change.kind is ChangeKind.POOL_REGRESSION)
    repaired = [told for told in truth["changes"] if told["last_build"] != ids[-1]]
    assert {told["kind"] for told in repaired} <= {"regression"}


def test_a_planted_change_affects_the_operator_and_what_contains_it():
    program = PLANS[0].families[1].program  # conv-xnnpack
    (pooling,) = (
        key for key in program.key_operators() if key.event_name == "Max Pooling (NHWC, F32) #1"
    )
    origin = program.key_operators()[pooling].origin
    change = Change(ChangeKind.REGRESSION, 1, 1, origin, 1.5)
    effect = describe_effect(program, change.apply(program), change)
    assert effect["operator"] == effect["operator_in_head"] == pooling._asdict()
    assert effect["ratio"] == 1.5
    assert [row["event_name"] for row in effect["follows"]] == ["DELEGATE_CALL", "Method::execute"]
    assert all(1 < row["ratio"] < 1.1 for row in effect["follows"])
    assert effect["removed"] == effect["appeared"] == []


def test_an_effect_of_a_move_names_the_operator_before_and_after():
    program = PLANS[0].families[5].program  # mixed-xnnpack
    (sine,) = (key for key in program.key_operators() if key.event_name.startswith("Sine"))
    change = Change(ChangeKind.MOVE_IN, 1, 5, program.list_after_delegate()[1], 0.3)
    effect = describe_effect(program, change.apply(program), change)
    assert sine._asdict() not in effect["removed"]
    assert effect["operator"]["event_name"] == "native_call_mean.out"
    assert effect["operator_in_head"] == {
        "event_name": "Mean #1", "delegate_id": "Mean #1", "ordinal": 1
    }  # fmt: skip
    assert effect["removed"] == [effect["operator"]]
    assert effect["appeared"] == [effect["operator_in_head"]]


@pytest.mark.parametrize("size", [(1, 1, 1), (1, 2, 1), (6, 400, 1), (40, 30, 12)])
def test_farms_of_any_size_can_be_planned(size):
    plan = plan_farm(FarmSize(size[0], size[1], size[2], 10, 50), 3)
    assert len({device.name for device in plan.devices}) == size[0]
    assert len({build.id for build in plan.builds}) == size[1]
    assert len({(family.model, family.backend) for family in plan.families}) == 2 * size[2]
    assert len(plan.changes) <= size[1] - 1
    times = [build.committed_at for build in plan.builds]
    assert times == sorted(times)
    assert {time.weekday() for time in times} <= set(range(5))
