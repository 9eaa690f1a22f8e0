from __future__ import annotations

import re

from tracehouse.warehouse.catalogue.queries import find_query
from tracehouse.warehouse.regressions.changes import SeriesVerdict


def test_the_query_tells_what_each_verdict_means() -> None:
    told = find_query("regression_deltas").header.description
    assert all(re.search(rf"\b{verdict}\b", told) for verdict in SeriesVerdict)


def test_each_verdict_has_words() -> None:
    assert all(verdict.words for verdict in SeriesVerdict)
