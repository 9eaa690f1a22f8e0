from __future__ import annotations

from tests.tools.reliability.damage import torture


def test_damage_is_harmless_or_told_and_mended() -> None:
    result = torture(8, seed=20261122)
    assert result["problems"] == []
