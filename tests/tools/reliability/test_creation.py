"""A short run of what `make torture` does at length."""

from __future__ import annotations

import pytest

from tests.tools.reliability.creation import torture

pytestmark = pytest.mark.slow


def test_a_store_whose_making_is_killed_is_whole_or_not_there() -> None:
    found = torture(10, seed=20261122)
    assert found["problems"] == []
    assert found["outcomes"]["killed"] >= 5


def test_a_store_whose_making_meets_a_full_disk_is_whole_or_not_there() -> None:
    found = torture(4, seed=20261122, is_full_disk=True)
    assert (found["problems"], found["outcomes"]) == ([], {"failed": 4})
