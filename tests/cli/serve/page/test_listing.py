"""Tables that are sorted and cut into pages."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.page.listing import Column, listing, sort_page, turn_pages
from tracehouse.cli.serve.page.page_request import Address

_COLUMNS = (
    Column("Name", lambda row: row["name"], "name"),
    Column("Count", lambda row: str(row["count"]), "count", is_number=True),
    Column("Note", lambda row: "note"),
)
_ROWS = pa.table({"name": ["b10", "b2", "b1", "b3"], "count": [1, None, 2, 1]})


def _names(sort: str = "", page: str = "", size: int = 50) -> list[str]:
    address = Address(fields={"sort": sort, "page": page})
    shown = sort_page(address, _ROWS, _COLUMNS, sort="name", size=size)
    return [row["name"] for row in shown.rows]


def test_rows_are_sorted_by_the_column_in_the_address() -> None:
    assert _names() == ["b1", "b2", "b3", "b10"]
    assert _names("-name") == ["b10", "b3", "b2", "b1"]


def test_ties_are_in_the_order_of_the_first_column_and_null_is_last() -> None:
    assert _names("count") == ["b3", "b10", "b1", "b2"]
    assert _names("-count") == ["b1", "b3", "b10", "b2"]


def test_page_numbers_beyond_the_last_page_show_the_last_one() -> None:
    assert _names(page="2", size=3) == ["b10"]
    assert _names(page="99", size=3) == ["b10"]


@pytest.mark.parametrize(
    ("sort", "page", "told"),
    [("size", "", "sort=size, wanted one of name, count"), ("note", "", "wanted one of"),
     ("", "0", "page=0, wanted"), ("", "two", "page=two, wanted"), ("", "²", "page=²")],
)  # fmt: skip
def test_another_column_or_page_is_refused(sort: str, page: str, told: str) -> None:
    with pytest.raises(Problem, match=told) as caught:
        _names(sort, page)
    assert caught.value.status_code == 400


def test_headings_sort_again_the_other_way_and_keep_the_filters() -> None:
    fields = {"sort": "-count", "page": "3"}
    address = Address(path="/x", fields=fields, filters={"device": ["d"]})
    shown = sort_page(address, _ROWS, _COLUMNS, sort="name")
    name, count, note = listing(address, "T", _COLUMNS, shown).heads
    assert (name.href, name.order) == ("/x?device=d&sort=name", "")
    assert (count.href, count.order) == ("/x?device=d&sort=count", "descending")
    assert (note.href, note.order) == ("", "")


def test_a_pager_names_the_part_and_leads_to_the_pages_around_it() -> None:
    address = Address(path="/x", fields={"sort": "name", "page": "2"})
    start, pager = turn_pages(address, 2345, size=1000)
    assert start == 1000
    assert pager.text == "1,001 to 2,000 of 2,345"
    assert dict(pager.links) == {
        "First": "/x?sort=name",
        "Previous": "/x?sort=name",
        "Next": "/x?sort=name&page=3",
        "Last": "/x?sort=name&page=3",
    }
    assert turn_pages(address, 3)[1].text == ""
