from __future__ import annotations

import numpy as np
import pytest

from tests.support.nightly_farm import ingest_all, record_build
from tracehouse import Warehouse
from tracehouse.queries.report.breakdowns import changed_nights, describe_members
from tracehouse.queries.report.night import judge_head
from tracehouse.queries.report.settings import Settings


def describe_member(night, change):
    (member,) = describe_members(night, [change])
    return member


@pytest.fixture(scope="module")
def night(judged):
    return judged("b11")


def test_a_member_has_both_levels_and_what_lies_between(night):
    change = night.groups[0].changes[0]
    member = describe_member(night, change)
    assert (member.device, member.model, member.backend) == ("phone", "net", None)
    assert (member.event_name, member.ordinal, member.kind) == (
        "native_call_convolution.out",
        1,
        "kernel",
    )
    assert member.delta == pytest.approx(0.15, abs=0.01)
    assert member.delta_low < member.delta < member.delta_high
    assert member.base_ns == pytest.approx(40_000, rel=0.01)
    assert member.head_ns == pytest.approx(46_000, rel=0.01)
    assert (len(member.base_values), len(member.head_values)) == (72, 8)


def test_base_change_cost_and_head_of_a_member_agree(night):
    changes = [change for group in night.groups for change in (*group.changes, *group.explains)]
    times = [one for one in describe_members(night, changes) if one.base_ns is not None]
    assert len(times) > 4
    for member in times:
        assert member.head_ns == member.base_ns * (1 + member.delta)
        assert member.cost_ns == member.head_ns - member.base_ns


def test_members_described_together_are_as_each_by_itself(night):
    changes = [change for group in night.groups for change in (*group.changes, *group.explains)]
    assert len(changes) > 4
    alone = [describe_member(night, change) for change in changes]
    assert describe_members(night, changes) == alone
    assert describe_members(night, []) == []


def test_the_history_is_every_night_that_has_dumps(night):
    by_device = {
        member.device: member
        for member in (describe_member(night, change) for change in night.groups[0].changes)
    }
    builds = [point.build for point in by_device["phone"].history]
    assert builds == [f"b{number}" for number in range(12)]
    assert [point.build for point in by_device["tablet"].history] == builds[:-1]
    assert {point.dump_count for point in by_device["phone"].history} == {8}
    head, logs = by_device["phone"].history[-1], np.log(by_device["phone"].head_values)
    edges = np.exp(np.quantile(logs, [0.1, 0.9]))
    assert (head.p10, head.p90) == pytest.approx(tuple(edges))
    assert all(point.p10 <= point.median_ns <= point.p90 for point in by_device["phone"].history)


def test_the_rule_says_which_numbers_made_the_verdict(night):
    convolution, relu, add = (group.changes[0] for group in night.groups)
    rule = describe_member(night, convolution).rule
    assert rule.startswith("24 dumps of 3 builds against 72 of 9 builds; p = ")
    assert rule.endswith("without the state of the device in each dump; confirmed by b10")
    assert "16 dumps of 2 builds" in describe_member(night, relu).rule
    suspected = describe_member(night, add).rule
    assert suspected.startswith("8 dumps of 1 build against")
    assert "confirmed" not in suspected


@pytest.mark.slow
def test_a_member_that_only_its_pool_shows_says_so(pool_night):
    (group,) = pool_night.groups
    members = [describe_member(pool_night, change) for change in group.changes]
    assert [member.device for member in members] == [f"phone-{number}" for number in range(6)]
    assert {member.pool for member in members} == {"phones"}
    for member in members:
        assert member.delta == pytest.approx(0.1, abs=0.01)
        assert member.cost_ns == pytest.approx(900, rel=0.1)
        assert "shown by the 6 devices of pool phones together: +10." in member.rule
        assert member.rule.endswith("confirmed by b9")


def test_nights_since_the_change_are_those_with_dumps(night):
    convolution = night.groups[0].changes
    assert [changed_nights(night, change).tolist() for change in convolution] == [
        [9, 10, 11],
        [9, 10],
    ]


@pytest.mark.slow
def test_ticks_of_unknown_rate_have_no_nanoseconds(tmp_path):
    cycles = {"clock": {"unit": "cycles"}}
    dumps = [
        dump
        for number in range(6)
        for dump in record_build(
            number, {"native_call_relu.out": 1.3 if number == 5 else 1.0}, **cycles
        )
    ]
    with Warehouse.open(ingest_all(tmp_path / "s", dumps), read_only=True) as store:
        night = judge_head(store, None, Settings())
        (group,) = night.groups
        member = describe_member(night, group.changes[0])
    assert member.delta == pytest.approx(0.3, abs=0.02)
    assert (member.base_ns, member.head_ns, member.cost_ns) == (None, None, None)
    assert {point.median_ns for point in member.history} == {None}
    assert np.median(member.base_values) == pytest.approx(9_000, rel=0.02)  # ticks


@pytest.mark.slow
def test_the_history_of_an_operator_at_two_speeds_has_both(tmp_path):
    name = "native_call_convolution.out"
    dumps = [
        dump
        for number in range(8)
        for speed, count in ((1.0, 6), (2.0, 4 + number % 2))
        for dump in record_build(
            number,
            {name: speed * (1.2 if number >= 6 else 1.0)},
            count=count,
            labels={"speed": str(speed)},
        )
    ]
    with Warehouse.open(ingest_all(tmp_path / "s", dumps), read_only=True) as store:
        night = judge_head(store, None, Settings())
        changes = [change for group in night.groups for change in group.changes]
        member = next(m for m in describe_members(night, changes) if m.event_name == name)
    assert member.speeds is not None
    for number, point in enumerate(member.history):
        level = 1.2 if number >= 6 else 1.0
        assert point.fast == pytest.approx(40_000 * level, rel=0.02)
        assert point.slow == pytest.approx(80_000 * level, rel=0.02)
        assert point.slow_count == 4 + number % 2
