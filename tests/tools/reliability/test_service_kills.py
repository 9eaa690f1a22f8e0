"""A short run of what `make torture-service` does at length."""

from __future__ import annotations

import pytest

from tests.tools.reliability.service_kills import torture


@pytest.mark.slow
@pytest.mark.parametrize("points", [(), ("spool sealed", "committed")])
def test_nothing_acknowledged_is_lost(points: tuple[str, ...]) -> None:
    found = torture(2, seed=20261122, points=points)

    assert found["problems"] == []
    assert found["acknowledged"] > 0
