"""Tests for tracehouse.ingest.etdump.columns."""

from __future__ import annotations

import numpy as np
import pytest

from tracehouse.ingest.etdump.columns import count_before, find_distinct


@pytest.mark.parametrize("kinds", [1, 20, 20_000], ids=str)
def test_distinct_rows_are_numbered_by_their_first_appearance(kinds: int) -> None:
    rows = np.random.default_rng(35).integers(0, kinds, (20_000, 1)) * np.arange(1, 8)
    number: dict[int, int] = {}
    wanted = [number.setdefault(key, len(number)) for key in rows[:, 0].tolist()]

    first, codes = find_distinct(rows)

    assert codes.tolist() == wanted
    assert rows[first, 0].tolist() == list(number)
    assert first.tolist() == sorted(first.tolist())


@pytest.mark.parametrize("kinds", [1, 300, 70_000], ids=str)
def test_earlier_occurrences_of_a_code_are_counted(kinds: int) -> None:
    codes = np.random.default_rng(36).integers(0, kinds, 5000)
    seen: dict[int, int] = {}
    wanted = []
    for code in codes.tolist():
        wanted.append(seen.get(code, 0))
        seen[code] = wanted[-1] + 1

    assert count_before(codes).tolist() == wanted
    assert count_before(codes[:0]).tolist() == []
