from __future__ import annotations

from collections import Counter

from tracehouse.warehouse.load.summary import IngestSummary


def test_summaries_add_up() -> None:
    one = IngestSummary(n_files=1, n_dumps=1, pools=Counter(["lab"]), notes=("a",), seconds=0.5)
    two = IngestSummary(n_files=2, n_duplicates=2, notes=("b",), seconds=1.0)
    assert one + two == IngestSummary(
        n_files=3,
        n_dumps=1,
        pools=Counter(["lab"]),
        n_duplicates=2,
        notes=("a", "b"),
        seconds=1.5,
    )
