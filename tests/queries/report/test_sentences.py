"""First lines, read as a person reads them."""

from __future__ import annotations

import re

import pytest

from tests.support.changes import change_row
from tests.support.reports import coverage, group, member, report, sensitivity
from tracehouse.queries.comparison import describe_pair
from tracehouse.queries.report.content import BuildPoint, Missing, RunShift, TallyRow
from tracehouse.queries.report.outline import find_verdict, sort_groups, tally_night
from tracehouse.queries.report.parts import Budget
from tracehouse.queries.report.sentences import lead_text, nightly_sentence

JARGON = re.compile(
    r"\b(night|blind|light|suspects?|moved as a whole|another environment|wanted and)\b"
)
SEEN = [sensitivity(is_blind=False)]
FAST = [TallyRow(kind="unsure", word="too fast to judge", size=82)]


def _pair(*rows, **others) -> str:
    return describe_pair(rows, base="a", head="b", **others).sentence


def _said(*groups, **changes) -> str:
    seen = changes.setdefault("sensitivity", SEEN)
    made = report(*groups, **{"tally": [], **changes})
    absent = made.coverage.missing
    verdict = find_verdict(sort_groups(made.groups), seen, absent, made.budgets)
    text = nightly_sentence(made.model_copy(update={"verdict": verdict}))
    assert not JARGON.search(text)
    return text


def test_a_comparison_of_two_builds_is_summarised_in_a_sentence() -> None:
    assert _pair(change_row(), change_row("unchanged", ordinal=2)) == (
        "1 operator is slower (net on lab, +5.0 %)."
    )
    more = [change_row(ordinal=i) for i in (1, 2)]
    assert _pair(*more, change_row("improvement", ordinal=3)) == (
        "2 operators are slower, 1 is faster."
    )
    assert _pair(change_row("new_op"), change_row("removed_op", ordinal=2)) == (
        "1 operator was added, 1 was removed."
    )


def test_a_quiet_verdict_counts_the_operators_that_could_not_be_judged() -> None:
    quiet = change_row("unchanged")
    fast = [change_row("below_resolution", ordinal=i) for i in (2, 3)]
    assert _pair(quiet, *fast) == "Nothing got slower. 2 operators are too fast to judge."
    few = change_row("needs_more_dumps")
    assert _pair(few) == "Cannot tell whether anything changed. 1 operator has too few dumps."
    assert _pair(few, change_row("needs_more_dumps", ordinal=2, head_count=0, model="x")) == (
        "Cannot tell whether anything changed. 1 operator has too few dumps."
    )


def test_a_slower_run_is_reported_even_if_no_operator_is_slower() -> None:
    run = change_row(level="method", event_name="Method::execute")
    assert _pair(run, change_row("unchanged")) == (
        "A run of lab · net is slower (+5.0 %), no operator by itself."
    )


def test_a_whole_device_that_moved_is_in_the_first_line() -> None:
    run = change_row("explained_by_run_shift", level="method", state_delta=0.443, delta=0.0)
    assert _pair(run, change_row("unchanged")) == (
        "No operator changed by itself, but all operators of net on lab moved together, +44.3 %: "
        "the device changed, or the whole build."
    )
    shift = RunShift(device="lab", model="net", backend=None, shift=0.3, limit=0.1, is_notable=True)
    assert _said(run_shifts=[shift]).startswith("Nothing got slower, but all operators of net on")


def test_times_of_different_units_are_reported_before_all_else() -> None:
    rows = [change_row(ordinal=i, base_ns=1e3, delta=999.0) for i in (1, 2, 3)]
    assert _pair(*rows).startswith("lab: times are 1,000 times those of a: is the clock stated")


def test_builds_with_nothing_in_common_say_so_and_nothing_else() -> None:
    found = describe_pair(
        [change_row("needs_more_dumps", head_count=0)],
        base="a",
        head="b",
        obstacle="No device recorded both builds: a is on x and b is on y",
    )
    assert found.sentence == "No device recorded both builds: a is on x and b is on y."
    assert (found.tally.total, found.notes) == (0, [])


@pytest.mark.parametrize(
    ("states", "text"),
    [
        ([], "Nothing got slower."),
        (["fixed"], "Nothing got slower."),
        (["acknowledged"], "1 regression is acknowledged, nothing new."),
        (
            ["accepted", "acknowledged", "muted", "muted"],
            "1 regression is acknowledged and 1 is accepted and 2 are muted, nothing new.",
        ),
        (["confirmed"], "1 operator is slower (mobilenet_v2 on pixel8, +6.2 %)."),
        (
            ["confirmed", "muted"],
            "1 operator is slower (mobilenet_v2 on pixel8, +6.2 %). 1 regression is muted already.",
        ),
        (
            ["new"],
            "1 slowdown is new and not confirmed yet (mobilenet_v2 on pixel8, +6.2 %).",
        ),
    ],
)
def test_a_report_leads_with_what_to_do(states, text) -> None:
    assert _said(*(group(id=f"g{i}", state=state) for i, state in enumerate(states))) == text


def test_operators_runs_and_measures_are_told_apart() -> None:
    run = group(member(kind="method", event_name="Method::execute"))
    measure = group(member(kind="exact", event_name="allocated_bytes", ordinal=0))
    assert _said(group(), run, measure).startswith(
        "1 operator is slower and 1 run is slower and 1 measure is worse (mobilenet_v2 on pixel8"
    )


def test_the_verdict_counts_operators_too_fast_to_judge_last() -> None:
    assert _said(tally=FAST) == "Nothing got slower. 82 operators are too fast to judge."


def test_the_verdict_says_which_changes_could_hide() -> None:
    told = _said(sensitivity=[sensitivity()])
    assert told == (
        "Nothing that can be seen got slower. Changes of 38 % could hide on 1 of 1 program."
    )


def test_environment_budget_and_missing_recordings_are_sentences() -> None:
    here = {"device": "pixel8", "model": "net", "backend": None}
    broken = Budget(
        **here, measure="first_token", unit="ns", value=2, limit=1, bound="at most", is_broken=True
    )
    assert _said(budgets=[broken]) == "1 budget is broken (first_token of pixel8 · net)."
    absent = Missing(**here, last_build=None, is_expected=True)
    assert _said(coverage=coverage(missing=[absent])) == (
        "1 expected recording is missing (pixel8 · net)."
    )
    alert = group(is_of_environment=True)
    assert _said(alert).startswith("1 operator is slower where the environment changed too (")


def test_missing_data_is_summarised_in_one_sentence() -> None:
    few = coverage(too_few=["lab conv: 1 build before it, 2 wanted", "lab txf: 3 dumps, 5 wanted"])
    assert _said(sensitivity=[], coverage=few) == (
        "Not enough data to judge yet (lab conv: 1 build before it, 2 wanted; 1 more model too)."
    )


def test_builds_of_forty_digits_are_cut_to_nine() -> None:
    head, base = "660154b848ac" + "0" * 28, "4d0cef4c0e1b" + "1" * 28
    told = lead_text(report(kind="compare", head=head, base=[base]))
    assert told.startswith("Build 660154b84 of 1 Mar 2026 against 4d0cef4c0:")
    assert describe_pair([change_row()], base=base, head=head).lead == (
        "660154b84 against 4d0cef4c0 on lab"
    )


def test_operators_on_devices_without_the_build_do_not_count_as_in_the_tally() -> None:
    here = [BuildPoint(build="b42", dump_count=9, median_ns=1.0)]
    alert = group(member(history=here), member(history=[], device="pixel9"))
    assert _said(alert, head="b42").startswith("1 operator is slower ")
    assert [part.size for part in tally_night({"unchanged": 1}, [alert], "b42")] == [1]
    absent = group(member(history=[]))  # nothing else says that it is slower
    assert _said(absent, head="b42").startswith("1 operator is slower ")


def test_muted_operators_without_an_alert_are_counted() -> None:
    muted = TallyRow(kind="acknowledged", word="muted", size=7)
    assert _said(group(), tally=[muted]).endswith("+6.2 %). 7 operators are muted.")
    assert "operators are muted" not in _said(group(state="muted"), tally=[muted])
