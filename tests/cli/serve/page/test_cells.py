"""Cells, addresses and texts of tables."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tracehouse.cli.serve.page.cells import age_text, link, natural_key


def test_ages_are_in_the_unit_that_fits() -> None:
    now = datetime.now(UTC)
    ages = [age_text(now - timedelta(seconds=s)) for s in (5, 300, 7200, 86400 * 3)]
    assert ages == ["5 s ago", "5 minutes ago", "2 hours ago", "3 days ago"]
    assert age_text(None) == "–"


def test_addresses_leave_out_what_is_not_given() -> None:
    assert link("/a", device="x y", build=None, model=["m", "n"]) == "/a?device=x+y&model=m&model=n"
    assert link("/a", device="x" * 9000) == "/a"


def test_numbers_in_names_sort_by_their_value() -> None:
    names = ["b10", "B2", "a", "10", "2", "b2.9", "b2.10", "²"]
    assert sorted(names, key=natural_key) == ["2", "10", "a", "B2", "b2.9", "b2.10", "b10", "²"]
