from __future__ import annotations

import re

import pytest

from tests.support.documents import ROOT
from tests.support.reports import group, report
from tracehouse.queries.report.content import OperatorChange
from tracehouse.queries.report.forms import MEDIA_TYPES, render
from tracehouse.queries.report.outline import verdict_text
from tracehouse.queries.report.verdicts import State, Verdict
from tracehouse.warehouse.catalogue.queries import find_query
from tracehouse.warehouse.regressions.changes import SeriesVerdict
from tracehouse.warehouse.regressions.nightly import Status

DOCUMENT = (ROOT / "docs" / "regressions.md").read_text(encoding="utf-8")
COLOURS = {"🔴": "red", "🟠": "amber", "🟡": "amber", "🟢": "green", "🔵": "blue", "⚪": "white"}


def test_verdicts_of_a_night_are_what_its_statuses_and_changes_can_give() -> None:
    names = {status.name.lower() for status in Status} - {"hit"}
    header = find_query("nightly_verdicts").header.description
    told = re.search(r"Verdicts: (.*?)\.", header, re.DOTALL)
    assert told
    assert set(re.findall(r"\w+", re.sub(r"\(.*?\)", "", told[1]))) == names | {
        *("regression", "improvement", "suspect_regression", "suspect_improvement", "returning"),
    }
    assert all(f"`{name}`" in DOCUMENT for name in names)


def test_docs_have_every_verdict_with_its_light_and_exit_status() -> None:
    told = re.findall(r"^\| `(\w+)` \| (\w+) \| .* \| exits (\d) \|$", DOCUMENT, re.MULTILINE)
    assert {row[0]: row[1:] for row in told} == {
        verdict: (COLOURS[verdict.light], str(verdict.exit_status)) for verdict in Verdict
    }


def test_docs_have_every_state_of_an_alert() -> None:
    start = DOCUMENT.index("| state | means | fails a night |")
    table = DOCUMENT[start : DOCUMENT.index("\n\n", start)]
    told = dict(re.findall(r"^\| `(\w+)` \|.*\| (yes|no)\b.*\|$", table, re.MULTILINE))
    assert told.keys() == set(State)
    assert [state for state, fails in told.items() if fails == "yes"] == [State.CONFIRMED]


@pytest.mark.parametrize("form", MEDIA_TYPES)
@pytest.mark.parametrize("verdict", Verdict)
def test_every_verdict_is_in_every_form(form, verdict) -> None:
    found = report(verdict=verdict)
    text = verdict if form == "json" else verdict_text(found)
    assert text in render(found, form)


# Slack gets only what is open.
@pytest.mark.parametrize("form", [form for form in MEDIA_TYPES if form != "slack"])
@pytest.mark.parametrize("state", State)
def test_every_state_is_in_every_form(form, state) -> None:
    assert (state if form == "json" else state.label) in render(report(group(state=state)), form)


@pytest.mark.parametrize("verdict", [verdict for verdict in SeriesVerdict if verdict.detail])
def test_operators_that_came_went_or_moved_are_in_words(verdict) -> None:
    place = {"device": "a", "model": "b", "backend": None, "run": "Execute", "ordinal": 1}
    change = OperatorChange(
        change=verdict, **place, event_name="op", delegate_id=None, cost_ns=None, detail="so"
    )
    found = report(operator_changes=[change])
    assert verdict.words in render(found, "html")
    assert verdict.words in render(found, "markdown")
