from __future__ import annotations

import pytest

from queries.report.content import EnvironmentChange
from queries.report.outline import facts, line_text, outline, verdict_text
from tests.support.reports import group, member, report


@pytest.mark.parametrize(
    ("state", "delta", "part"),
    [
        ("confirmed", 0.1, "failures"),
        ("acknowledged", 0.1, "settled"),
        ("new", 0.1, "suspects"),
        ("new", -0.1, "improvements"),
        ("confirmed", -0.1, "improvements"),
        ("accepted", 0.1, "settled"),
        ("fixed", -0.1, "settled"),
    ],
)
def test_a_group_is_in_the_part_of_its_state_and_direction(state, delta, part) -> None:
    one = group(member(delta=delta), state=state)
    found = outline(report(one))._asdict()
    assert found.pop(part) == [one]
    assert not any(found.values())


@pytest.mark.parametrize(
    ("device", "attribute", "part"),
    [
        ("pixel8", "os_version", "settled"),
        ("pixel8", "temperature", "failures"),
        ("other", "os_version", "failures"),
    ],
)
def test_what_began_with_another_environment_is_no_failure(device, attribute, part) -> None:
    change = EnvironmentChange(device=device, attribute=attribute, base="1", head="2")
    one = group(member(device="pixel8"), environment=[change])
    assert getattr(outline(report(one)), part) == [one]


@pytest.mark.parametrize(
    ("verdict", "text"),
    [
        ("regressions", "2 regressions"),
        ("suspects", "1 suspect, nothing confirmed"),
        ("clear", "Nothing got slower"),
        ("not_enough_data", "Not enough data"),
    ],
)
def test_the_verdict_counts_its_groups(verdict, text) -> None:
    groups = [group(), group(), group(state="acknowledged"), group(state="new")]
    assert verdict_text(report(*groups, verdict=verdict)) == text


def test_groups_keep_the_order_of_the_report() -> None:
    groups = [group(id=name) for name in "cab"]
    assert [one.id for one in outline(report(*groups)).failures] == list("cab")


def test_the_line_has_cost_state_and_builds() -> None:
    one = group(member(base_ns=1e6, delta=0.05), title="conv +5.0 %")
    assert line_text(one) == (
        "▲ conv +5.0 %, +50.00 µs per run (confirmed, since b40, last good b39)"
    )
    saved = group(member(base_ns=None, delta=-0.05), title="conv", last_good=None)
    assert line_text(saved) == "▼ conv (confirmed, since b40)"


def test_facts_tell_only_what_there_is() -> None:
    assert dict(facts(group())) == {
        "Of the whole change": "83 %",
        "Seen on": "1 device, 1 model, 1 series",
        "Alert": "g-5f1c9a2e",
    }
    more = group(dumps_needed=4, owner="me", reason="wanted", fixed_in="b9")
    assert dict(facts(more)).items() >= {
        ("To be confirmed", "4 more dumps of the head"),
        ("Owner", "me"),
        ("Accepted because", "wanted"),
        ("Fixed in", "b9"),
    }
