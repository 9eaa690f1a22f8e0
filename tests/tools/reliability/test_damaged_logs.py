"""A short run of what `make torture` does at length."""

from __future__ import annotations

import pytest

from tests.tools.reliability.damaged_logs import torture


@pytest.mark.slow
def test_damage_to_a_log_is_reported_and_costs_no_other_record() -> None:
    found = torture(6, seed=20261122)
    assert found["problems"] == []
    assert found["outcomes"] == {"cut": 2, "flip": 2, "zero": 2}
