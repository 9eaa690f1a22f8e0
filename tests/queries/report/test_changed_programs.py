"""Methods whose time changed because their program gained or lost operators."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.traced_farm import Step, report_on, store_nights
from tracehouse.queries.report import forms
from tracehouse.queries.report.content import Group
from tracehouse.queries.report.figures import cost_text
from tracehouse.queries.report.verdicts import State, Verdict

_CONVOLUTIONS = [(f"Convolution #{number}", ns) for number, ns in ((1, 500_000), (2, 300_000))]
_ADD, _TRANSPOSE = ("Add #1", 30_000), ("Transpose #1", 210_000)
_KERNELS = [Step("native_call_convolution.out", 800_000), Step("native_call_add.out", 30_000)]
_COPY = Step("native_call_permute_copy.out", 210_000)
PROGRAMS = {
    "delegate": (
        [Step("", parts=[*_CONVOLUTIONS, _ADD])],
        [Step("", parts=[*_CONVOLUTIONS, _TRANSPOSE, _ADD])],
    ),
    "portable": (_KERNELS, [*_KERNELS[:1], _COPY, *_KERNELS[1:]]),
}
BASES, HEADS = 6, 2


def _farm(before: Sequence[Step], after: Sequence[Step]) -> Path:
    return store_nights({"cnn": [before] * BASES + [after] * HEADS})


@pytest.fixture(name="slower", params=PROGRAMS)
def _slower(request: pytest.FixtureRequest) -> Path:
    """A store in which a method is 25 % slower from b7 on, as it runs one operator more."""
    return _farm(*PROGRAMS[request.param])


def _of_times(groups: Sequence[Group]) -> Group:
    (found,) = [group for group in groups if group.members[0].unit == "ns"]
    return found


def _check(group: Group) -> None:
    """The method is slower by what the new operator costs, which counts once."""
    assert (group.direction, group.first_bad, group.last_good) == ("regression", "b7", "b6")
    (edit,) = group.edits
    assert (edit.change, edit.ordinal, edit.detail) == ("new_op", 1, "not in b6")
    assert edit.cost_ns == pytest.approx(210_000, rel=0.02)
    assert group.headline.cost_ns == pytest.approx(210_000, rel=0.1)
    method = next(one for one in (*group.members, *group.explains) if one.kind == "method")
    assert method.cost_ns == pytest.approx(210_000, rel=0.1)


def test_a_night_names_the_new_operator_and_its_cost(slower: Path) -> None:
    suspect = report_on(slower, "b7")
    assert _of_times(suspect.groups).state == State.NEW
    _check(_of_times(suspect.groups))
    confirmed = report_on(slower, "b8")
    assert confirmed.verdict == Verdict.REGRESSIONS
    assert _of_times(confirmed.groups).state == State.CONFIRMED
    _check(_of_times(confirmed.groups))


def test_two_builds_give_the_same_edits_as_a_nightly_report(slower: Path) -> None:
    report = report_on(slower, "b7", "b6")
    assert report.verdict == Verdict.REGRESSIONS
    _check(_of_times(report.groups))
    back = report_on(slower, "b6", "b7")
    group = _of_times(back.groups)
    (edit,) = group.edits
    assert (group.direction, edit.change, edit.detail) == (
        "improvement",
        "removed_op",
        "in b7, not in b6",
    )
    assert edit.cost_ns == pytest.approx(-210_000, rel=0.02)


@pytest.mark.parametrize("form", ["html", "markdown"])
def test_an_alert_shows_operator_changes_and_their_cost_in_readable_reports(
    slower: Path, form: str
) -> None:
    report = report_on(slower, "b8")
    text, (edit,) = forms.render(report, form), _of_times(report.groups).edits
    assert "Operators gained or lost" in text
    assert cost_text(edit.cost_ns) in text  # in the alert,
    assert text.count(cost_text(edit.cost_ns).partition(".")[0]) >= 2  # and as a part of it


def test_a_new_operator_of_negligible_cost_is_no_regression() -> None:
    before = PROGRAMS["delegate"][0]
    after = [Step("", parts=[*_CONVOLUTIONS, ("Transpose #1", 2_000), _ADD])]
    store = _farm(before, after)
    assert report_on(store, "b8").verdict == Verdict.CLEAR
    assert report_on(store, "b7", "b6").verdict == Verdict.CLEAR
