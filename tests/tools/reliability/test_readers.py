"""A short run of what `make torture` does at length."""

from __future__ import annotations

import pytest

from tests.tools.reliability.readers import torture


@pytest.mark.slow
def test_readers_beside_all_upkeep_see_one_state_each_and_no_error() -> None:
    found = torture(1, seed=20261122, rounds=1)
    assert (found["problems"], found["deeds"]) == ([], 5)
    assert found["answers"] > 0
