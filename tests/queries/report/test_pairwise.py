from __future__ import annotations

from datetime import date
from statistics import median

import pytest

from tests.support.nightly_farm import ingest_all, record_build
from tracehouse import Warehouse
from tracehouse.queries.report.outline import verdict_text
from tracehouse.queries.report.pairwise import compare_report
from tracehouse.queries.report.plots import drift_plot
from tracehouse.queries.report.settings import (
    ExpectedRecordings,
    Mute,
    Nightly,
    Owner,
    Settings,
    Threshold,
)
from tracehouse.warehouse.errors import ParameterError


def compared(store, settings=None, base="b8", head="b10"):
    return compare_report(store, settings or Settings(), base=base, head=head)


def slower(found):
    return [group.headline.operator for group in found.groups if group.direction == "regression"]


def test_a_slower_operator_is_a_group_with_the_values_of_both_builds(nightly):
    found = compared(nightly)
    assert (found.kind, found.verdict, found.base) == ("compare", "regressions", ["b8"])
    assert slower(found) == ["convolution"]
    (group,) = [group for group in found.groups if group.direction == "regression"]
    assert (group.state, group.first_bad, group.last_good) == ("confirmed", "b10", "b8")
    for member in group.members:
        assert 0 < member.delta_low < member.delta < member.delta_high
        assert min(member.head_values) > 0
        assert min(len(member.base_values), len(member.head_values)) >= 8
    assert verdict_text(found) == "2 operators are slower, 1 is faster."


@pytest.mark.slow
def test_builds_of_the_same_code_are_clear(nightly):
    found = compared(nightly, base="b6", head="b7")
    assert (found.verdict, found.groups) == ("clear", [])


@pytest.mark.slow
def test_settings_mute_raise_thresholds_and_name_owners(nightly):
    owned = compared(nightly, Settings(owners=[Owner(event="*conv*", owner="core")]))
    assert [group.owner for group in owned.groups if group.direction == "regression"] == ["core"]
    coarse = Settings(thresholds=[Threshold(event="*convolution*", min_change=0.99)])
    assert slower(compared(nightly, coarse)) == ["Method::execute"]  # by a threshold of its own
    all_coarse = Settings(thresholds=[Threshold(event="*", min_change=0.99)])
    assert slower(compared(nightly, all_coarse)) == []
    muted = compared(nightly, Settings(muted=[Mute(event="*convolution*", reason="known")]))
    (group,) = [group for group in muted.groups if group.direction == "regression"]
    assert (group.headline.operator, group.state, group.reason) == ("convolution", "muted", "known")
    assert muted.verdict_counts["muted: known"] > 0
    assert muted.verdict == "known"


@pytest.mark.slow
def test_a_threshold_may_be_below_what_counts_elsewhere(nightly):
    fine = Threshold(event="*convolution*", min_change=0.03)
    settings = Settings(nightly=Nightly(min_change=0.5), thresholds=[fine])
    found = compared(nightly, settings)
    assert [group.headline.operator for group in found.groups] == ["convolution"]
    whole = compared(nightly)
    assert found.groups[0].members == whole.groups[0].members
    assert whole.verdict_counts["improvement"] == 1
    assert "improvement" not in found.verdict_counts
    coarse = compared(nightly, Settings(nightly=Nightly(min_change=0.5)))
    assert coarse.groups == []
    both = found.verdict_counts["unchanged"] + found.verdict_counts["regression"]
    assert coarse.verdict_counts == {"unchanged": both}


@pytest.mark.slow
def test_a_mute_that_has_expired_when_the_head_was_recorded_mutes_nothing(nightly):
    expired = Mute(event="*convolution*", reason="known", until=date(2000, 1, 1))
    assert slower(compared(nightly, Settings(muted=[expired]))) == ["convolution"]


@pytest.mark.parametrize(
    ("head", "problem"),
    [("b8", "which is the value of 'base', too"), ("x", "'x' is not in the store")],
)
def test_a_head_that_cannot_be_compared_is_refused(nightly, head, problem):
    with pytest.raises(ParameterError, match=problem):
        compared(nightly, head=head)


@pytest.mark.slow
def test_swapped_builds_are_doubted_and_what_is_expected_is_missed(nightly):
    expected = ExpectedRecordings(devices=["phone", "watch"], models=["net"])
    found = compared(nightly, Settings(expected=[expected]), base="b7", head="b6")
    doubt, absent = found.notes
    assert doubt.startswith("by its ordinal the head b6 is older than the base b7")
    assert absent == "expected, but not recorded: watch · net"
    assert (found.verdict, found.base) == ("incomplete", ["b7"])
    assert {one.device for one in found.coverage.missing if one.is_expected} == {"watch"}


@pytest.mark.slow
def test_times_and_plots_are_relative_to_the_same_reference(tmp_path):
    dumps = []
    for number, session, state in ((0, "mon", 1.0), (1, "tue", 1.3)):
        slower = 1.2 * state if number else state
        times = dict.fromkeys(("native_call_relu.out", "native_call_mean.out"), state)
        own = times | {"native_call_convolution.out": slower}
        pinned = times | {"native_call_convolution.out": state}
        dumps += record_build(number, own, run={"session": session})
        dumps += record_build(
            9, pinned, run={"session": session}, build={"id": "pinned", "role": "reference"}
        )
    with Warehouse.open(ingest_all(tmp_path / "s", dumps), read_only=True) as store:
        found = compare_report(store, Settings(), base="b0", head="b1")
    (member,) = (m for group in found.groups for m in group.members if m.delta > 0.1)
    assert median(member.base_values) == pytest.approx(member.base_ns)
    assert median(member.head_values) == pytest.approx(member.head_ns, rel=2e-3)
    assert member.head_ns / member.base_ns == pytest.approx(1.2, abs=0.02)
    assert "relative to the reference build pinned" in member.rule
    assert "relative to the reference build pinned" in found.notes[0]
    ((drift,),) = [found.reference_drift]
    low, high = (point.drift for point in drift.points)
    assert low < 0 < high
    assert "session" in drift_plot(drift)


@pytest.mark.slow
def test_a_delegate_without_operators_is_reported_by_its_call_and_can_be_muted(tmp_path):
    dumps = [*record_build(0, {"DELEGATE_CALL": 1.0}), *record_build(1, {"DELEGATE_CALL": 1.2})]
    with Warehouse.open(ingest_all(tmp_path / "s", dumps), read_only=True) as store:
        found = compared(store, base="b0", head="b1")
        muted = compared(
            store, Settings(muted=[Mute(event="DELEGATE*", reason="known")]), "b0", "b1"
        )
    (group,) = found.groups
    assert (slower(found), group.explains) == (["DELEGATE_CALL"], [])
    (call,) = group.members
    assert (call.kind, call.may_be) == ("delegate_call", None)
    assert [group.state for group in muted.groups] == ["muted"]
    assert muted.verdict_counts["muted: known"] == 1
