"""A short run of what `make torture` does at length."""

from __future__ import annotations

import pytest

from tests.tools.reliability.upkeep import OPERATIONS, torture


@pytest.mark.slow
def test_a_killed_command_leaves_the_store_as_before_it_or_as_after_it() -> None:
    found = torture(4, seed=20261122, names=("retention", "rebuild"))
    assert found["problems"] == []
    assert found["kills"] >= 2


@pytest.mark.slow
def test_commands_can_be_killed_before_and_after_they_commit_or_swap() -> None:
    points = ("commit", "committed", "swap", "swapped", "published")
    names = [name for name in OPERATIONS if name not in ("merge", "rebuild", "retention")]
    found = torture(0, seed=20261122, points=points, names=names)
    assert found["problems"] == []
    met = {name for name, count in found["outcomes"].items() if name.endswith("killed") and count}
    assert met == {f"{name}: killed" for name in names}
