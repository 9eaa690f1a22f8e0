"""A short run of what `make torture` does at length."""

from __future__ import annotations

import pytest

from tests.tools.reliability.intake import torture


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_at_random_moments() -> None:
    found = torture(5, seed=20261122)
    assert found["problems"] == []
    assert found["outcomes"]["killed"] >= 3


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_between_commit_and_clearing() -> None:
    found = torture(3, seed=20261122, points=("log sync", "committed", "log clear"))
    assert found["problems"] == []
    assert len(found["outcomes"]) == 3
