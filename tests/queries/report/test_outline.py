from __future__ import annotations

import pytest

from tests.support.reports import coverage, group, member, report, sensitivity
from tracehouse.queries.report.content import Missing
from tracehouse.queries.report.forms import MEDIA_TYPES, render
from tracehouse.queries.report.outline import (
    commits_url,
    facts,
    find_verdict,
    is_card,
    line_text,
    sort_groups,
    verdict_text,
)


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
def test_a_group_is_sorted_into_a_section_by_its_state_and_direction(state, delta, part) -> None:
    one = group(member(delta=delta), state=state)
    found = sort_groups([one])._asdict()
    assert found.pop(part) == [one]
    assert not any(found.values())


@pytest.mark.parametrize(
    ("state", "part"),
    [("confirmed", "environment"), ("new", "suspects"), ("accepted", "settled")],
)
def test_changes_explained_by_the_environment_have_their_own_section(state, part) -> None:
    one = group(state=state, is_of_environment=True)
    found = sort_groups([one])
    assert getattr(found, part) == [one]
    assert find_verdict(found, [], []) != "regressions"


@pytest.mark.parametrize(
    ("groups", "verdict"),
    [
        ([{}, {"is_of_environment": True}, {"state": "new"}], "regressions"),
        ([{"is_of_environment": True}, {"state": "new"}], "other_environment"),
        ([{"state": "new", "is_of_environment": True}], "suspects"),
        ([{"state": "accepted", "is_of_environment": True}], "known"),
    ],
)
def test_the_verdict_is_the_worst_that_the_groups_say(groups, verdict) -> None:
    parts = sort_groups([group(**fields) for fields in groups])
    assert find_verdict(parts, [sensitivity(is_blind=False)], []) == verdict


def test_a_verdict_without_groups_says_how_much_could_be_judged() -> None:
    nothing, seen = sort_groups([]), sensitivity(is_blind=False)
    assert find_verdict(nothing, [seen], []) == "clear"
    assert find_verdict(nothing, [seen, sensitivity()], []) == "blind"
    assert find_verdict(nothing, [sensitivity(judged_count=0)], []) == "not_enough_data"
    assert find_verdict(nothing, [], []) == "not_enough_data"


def test_the_first_line_is_the_summary_in_every_form() -> None:
    found = report(summary="Nothing got slower.")
    assert verdict_text(found) == "Nothing got slower."
    for form in ("html", "markdown", "junit", "slack"):
        assert "Nothing got slower." in render(found, form)


def test_groups_keep_the_order_of_the_report() -> None:
    groups = [group(id=name) for name in "cab"]
    assert [one.id for one in sort_groups(groups).failures] == list("cab")


def test_the_line_has_cost_state_and_builds() -> None:
    one = group(member(base_ns=1e6, delta=0.05), title="conv +5.0 %")
    assert line_text(one) == (
        "▲ conv +5.0 %, +50.00 µs per run (confirmed, since b40, last good b39)"
    )
    saved = group(member(base_ns=None, delta=-0.05), title="conv", last_good=None)
    assert line_text(saved) == "▼ conv (confirmed, since b40)"


def test_facts_without_data_are_left_out() -> None:
    assert dict(facts(group(), report())) == {
        "Of the method's time": "5 %",
        "Of the whole change": "83 %",
        "Next step": "bisect it with the report's commands, and fix it; "
        "or tracehouse accept g-5f1c9a2e --reason WHY",
        "Alert": "g-5f1c9a2e",
    }
    more = group(state="new", dumps_needed=4, owner="me", reason="wanted", fixed_in="b9")
    known = report(commits={"b39": "c0ffee", "b40": "beef"})
    assert dict(facts(more, known)).items() >= {
        ("Commits", "c0ffee..beef"),
        ("Owner", "me"),
        ("Next step", "record 4 more dumps of the head in another session: "
         "they confirm it or clear it"),
        ("Decided because", "wanted"),
        ("Fixed in", "b9"),
    }  # fmt: skip


def test_a_group_that_costs_little_is_one_line_in_every_format() -> None:
    small = group()
    cheap = small.headline.model_copy(update={"method_share": 0.0015})
    small = small.model_copy(update={"headline": cheap})
    assert is_card(group())
    assert not is_card(small)
    found = report(small)
    assert '<details class="full" open>' not in render(found, "html")
    assert "Reproduce" not in render(found, "markdown")
    assert "Next step" not in render(found, "slack")


def test_a_missing_expected_recording_is_not_green_and_in_every_format() -> None:
    row = Missing(device="tab", model="net", backend=None, last_build=None, is_expected=True)
    assert find_verdict(sort_groups([]), [sensitivity(is_blind=False)], [row]) == "incomplete"
    note = "expected, but not recorded: tab · net"
    found = report(verdict="incomplete", notes=[note], coverage=coverage(missing=[row]))
    for form in MEDIA_TYPES:
        assert note in render(found, form)


def test_the_commits_between_have_an_address_if_both_are_known() -> None:
    url, commits = "https://host/repo/compare/{base}...{head}", {"b39": "c0ffee", "b40": "a/b"}
    known = report(commits=commits, repo_url=url)
    assert commits_url(group(), known) == "https://host/repo/compare/c0ffee...a%2Fb"
    assert commits_url(group(), report(commits=commits)) == ""
    assert commits_url(group(), report(commits={"b40": "beef"}, repo_url=url)) == ""
