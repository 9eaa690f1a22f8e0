from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.plain_rollups import bucket
from tracehouse.warehouse.statistics.rollups import GAMMA, ZERO, count_buckets, find_buckets

TICKS = st.one_of(st.integers(0, 300), st.integers(0, 2**63 - 1))


@given(st.lists(TICKS, min_size=1, max_size=50))
def test_the_value_of_a_bucket_is_within_one_percent_of_all_in_it(ticks: list[int]) -> None:
    for duration, number in zip(ticks, find_buckets(np.array(ticks)).tolist(), strict=True):
        if duration == 0:
            assert number == ZERO
        else:
            assert 2 * GAMMA**number / (GAMMA + 1) == pytest.approx(duration, rel=0.01 + 1e-9)


def test_bounds_of_buckets() -> None:
    edge = int(GAMMA**500)
    assert find_buckets(np.array([0, 1, 2, edge, edge + 1])).tolist() == [ZERO, 0, 35, 500, 501]


@given(st.lists(TICKS, min_size=1, max_size=50), st.sampled_from([np.int32, np.int64]))
def test_histograms_of_rows_are_those_of_a_plain_count(
    ticks: list[int], type_: type[np.generic]
) -> None:
    rows = np.sort(np.array([ticks, ticks[::-1]]) % np.iinfo(type_).max, axis=1).astype(type_)  # type: ignore[type-var]
    counts = count_buckets(rows)
    found = list(
        zip(counts.row.tolist(), counts.bucket.tolist(), counts.size.tolist(), strict=True)
    )
    expected = Counter(bucket(int(duration)) for duration in rows[0])
    assert found == [(row, *item) for row in (0, 1) for item in sorted(expected.items())]
