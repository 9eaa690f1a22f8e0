from __future__ import annotations

import pytest

from tests.tools.reliability.damage import torture


@pytest.mark.slow
@pytest.mark.parametrize("seed", [20261122])
def test_damage_is_harmless_or_told_and_mended(seed: int) -> None:
    result = torture(4, seed=seed)
    assert result["problems"] == []
