from __future__ import annotations

from datetime import date

import pytest

from queries.report.outline import verdict_text
from queries.report.pairwise import compare_report
from queries.report.settings import Mute, Nightly, Owner, Settings, Threshold
from warehouse.errors import ParameterError


def compared(store, settings=None, base="b8", head="b10"):
    return compare_report(store, settings or Settings(), base=base, head=head)


def slower(found):
    return [group.headline.operator for group in found.groups if group.direction == "regression"]


def test_what_is_slower_is_a_group_with_the_dumps_of_both_builds(nightly):
    found = compared(nightly)
    assert (found.kind, found.verdict, found.base) == ("compare", "regressions", ["b8"])
    assert slower(found) == ["convolution"]
    (group,) = [group for group in found.groups if group.direction == "regression"]
    assert (group.state, group.first_bad, group.last_good) == ("confirmed", "b10", "b8")
    for member in group.members:
        assert 0 < member.delta_low < member.delta < member.delta_high
        assert min(member.head_values) > 0
        assert min(len(member.base_values), len(member.head_values)) >= 8
    assert verdict_text(found) == "1 regression"


def test_builds_of_the_same_code_are_clear(nightly):
    found = compared(nightly, base="b6", head="b7")
    assert (found.verdict, found.groups) == ("clear", [])


@pytest.mark.slow
def test_settings_mute_raise_thresholds_and_name_owners(nightly):
    owned = compared(nightly, Settings(owners=[Owner(event="*conv*", owner="core")]))
    assert [group.owner for group in owned.groups if group.direction == "regression"] == ["core"]
    coarse = Settings(thresholds=[Threshold(event="*convolution*", min_change=0.99)])
    assert slower(compared(nightly, coarse)) == []
    muted = compared(nightly, Settings(muted=[Mute(event="*convolution*", reason="known")]))
    assert slower(muted) == []
    assert muted.verdict_counts["muted: known"] > 0


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
    ("head", "problem"), [("b8", "which is 'base' too"), ("x", "is called 'x'")]
)
def test_a_head_that_cannot_be_compared_is_told(nightly, head, problem):
    with pytest.raises(ParameterError, match=problem):
        compared(nightly, head=head)
