"""A short run of what `make torture` does at length."""

from __future__ import annotations

from tests.tools.reliability.upkeep import torture


def test_a_killed_command_leaves_the_store_as_before_it_or_as_after_it() -> None:
    found = torture(8, seed=20261122)
    assert found["problems"] == []
    assert len(found["outcomes"]) >= 8
