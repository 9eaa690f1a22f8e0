from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.reports import group, member, report
from tests.support.store_rows import StoreRows
from tracehouse.queries.report.html import html_text
from tracehouse.queries.report.markdown import markdown_text
from tracehouse.queries.report.nightly import NightKey, pack_night, unpack_report, with_notes
from tracehouse.queries.report.outline import facts
from tracehouse.queries.report.parts import Note
from tracehouse.warehouse.queryable import Queryable

EVENT = "native_call_convolution.out"
TEXT = "see <PR> 123"


def note(**point: Any) -> Note:
    names = ("device", "pool", "model", "backend", "event_name", "delegate_id", "ordinal")
    on = dict.fromkeys(names) | {"build": "b40"} | point
    day = datetime(2026, 3, 1, tzinfo=UTC)
    return Note(note_id="5d1c", text=TEXT, written_by="ann", written_at=day, **on)


@pytest.mark.parametrize(
    ("point", "is_on"),
    [
        ({}, True),
        ({"device": "pixel8", "event_name": EVENT, "ordinal": 3}, True),
        ({"device": "s24"}, False),
        ({"ordinal": 4}, False),
        ({"pool": "field"}, False),
    ],
)
def test_a_note_is_on_series_with_all_of_its_names(point: dict[str, Any], is_on: bool) -> None:
    assert note(**point).is_on(vars(member(pool="lab"))) == is_on


def test_a_note_is_on_rows_of_its_build_whatever_names_they_lack() -> None:
    assert note(ordinal=2).is_on({"build": "b40", "device": "s24"})
    assert not note().is_on({"build": "b41"})


def test_a_note_says_what_it_is_on() -> None:
    assert note().where == "all devices · all models"
    assert note(pool="lab", model="mv2", backend="xnnpack").where == "pool lab · mv2 · xnnpack"
    assert note(device="s24", event_name="conv", ordinal=2).where == "s24 · all models · conv #2"


def test_a_report_shows_notes_on_its_groups_and_marks_their_points() -> None:
    noted = report(group(member()), point_notes=[note(event_name=EVENT)])
    said = f"{TEXT} (ann, 2026-03-01)"
    assert ("Note on b40", said) in facts(noted.groups[0], noted)
    page = html_text(noted)
    assert page.count("see &lt;PR&gt; 123 (ann, 2026-03-01)") > 1
    assert 'class="mark note"' in page
    assert TEXT not in page
    assert "Note on b40" in markdown_text(noted)


def test_a_stored_report_has_no_notes_until_it_is_read() -> None:
    noted = report(group(member()), point_notes=[note()])
    stored = unpack_report(pack_night(NightKey("b42", "s", "i"), noted).report)
    assert stored.point_notes == []
    rows = StoreRows()
    rows.add_dump()
    for model in (member().model, "other"):
        rows.add_note(f"on {model}", "b40", model=model)
    connection = rows.connect()

    class Store(Queryable):
        def sql(self, text: str, params: object = None) -> Any:
            return connection.sql(text, params=params).to_arrow_table()

    found = with_notes(stored, Store())  # type: ignore[abstract]
    assert [one.text for one in found.point_notes] == [f"on {member().model}"]
