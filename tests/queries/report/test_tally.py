from __future__ import annotations

from typing import Any

from tracehouse.queries.report.tally import TALLIED, tally_operators
from tracehouse.warehouse.regressions.verdicts import SeriesVerdict


def _row(verdict: str, *, counts: tuple[int, int] = (8, 8), **columns: Any) -> dict[str, Any]:
    place = {"level": "operator", "device": "lab", "model": "net", "backend": None}
    sides = dict(zip(("base_count", "head_count"), counts, strict=True))
    return {**place, "run": "Execute", **sides, "verdict": verdict, **columns}


def test_each_operator_is_counted_once_and_the_counts_add_up() -> None:
    rows = [_row(verdict) for verdict in SeriesVerdict for _ in range(2)]
    containers = [_row("regression", level=level) for level in ("method", "delegate", "module")]
    found = tally_operators([*rows, *containers])
    assert found.total == len(rows)
    assert set(found.counts.values()) == {2}
    text = found.text("a", "b")
    assert text.startswith("1 method slower; 2 slower, 2 faster, 2 new, ")
    assert f" of {len(rows)} operators; " in text
    assert text.endswith("2 cannot tell, 2 too fast to judge, 2 too few dumps")


def test_operators_of_methods_of_one_build_are_named_apart() -> None:
    rows = [
        _row("unchanged"),
        _row("needs_more_dumps", counts=(8, 0), model="old"),
        _row("needs_more_dumps", counts=(0, 9), run="decode"),
        _row("below_resolution", counts=(0, 9), run="decode"),
    ]
    assert tally_operators(rows).text("a", "b") == (
        "no change found in 1 operator; 1 unchanged; 1 more of methods that only a has; "
        "2 more of methods that only b has"
    )


def test_a_method_that_gained_or_lost_an_operator_is_of_both_builds() -> None:
    for verdict, counts in (("new_op", (0, 8)), ("removed_op", (8, 0))):
        rows = [_row(verdict, counts=counts), _row("needs_more_dumps", counts=(0, 0))]
        found = tally_operators(rows)
        assert (found.total, found.only_base, found.only_head) == (2, 0, 0)


def test_the_columns_that_count_are_enough() -> None:
    row = _row("improvement")
    assert set(row) == set(TALLIED)
