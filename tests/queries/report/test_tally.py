from __future__ import annotations

from typing import Any

from tests.support.reports import group, member
from tracehouse.queries.report.content import BuildPoint
from tracehouse.queries.report.outline import (
    TALLIED,
    shared_operators,
    tally_night,
    tally_operators,
)
from tracehouse.warehouse.regressions.changes import SeriesVerdict


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
    assert found.tally.total == sum(part.size for part in found.tally.parts) == len(rows)
    assert found.tally.text.startswith(f"{len(rows)} operators: 2 slower, 2 faster, 2 added, ")
    assert found.tally.text.endswith("2 cannot tell, 2 too fast to judge, 2 too few dumps")


def test_operators_of_methods_of_one_build_are_named_apart() -> None:
    rows = [
        _row("unchanged"),
        _row("needs_more_dumps", counts=(8, 0), model="old"),
        _row("needs_more_dumps", counts=(0, 9), run="decode"),
        _row("below_resolution", counts=(0, 9), run="decode"),
    ]
    found = tally_operators(rows)
    assert found.tally.text == "1 operator: 1 unchanged"
    assert (found.only_base, found.only_head) == (1, 2)
    assert shared_operators(rows) == rows[:1]


def test_a_method_that_gained_or_lost_an_operator_counts_in_both_builds() -> None:
    for verdict, counts in (("new_op", (0, 8)), ("removed_op", (8, 0))):
        rows = [_row(verdict, counts=counts), _row("needs_more_dumps", counts=(0, 0))]
        found = tally_operators(rows)
        assert (found.total, found.only_base, found.only_head) == (2, 0, 0)


def test_the_columns_that_count_are_enough() -> None:
    row = _row("improvement")
    assert set(row) == set(TALLIED)


def test_operators_of_a_night_are_counted_once_and_add_up_to_all() -> None:
    here = [BuildPoint(build="b42", dump_count=9, median_ns=1.0)]
    slower = group(member(history=here), member(history=here, ordinal=4))
    again = group(member(history=here), state="acknowledged")  # of an operator that is slower, too
    new = group(member(history=here, ordinal=5), state="new")
    gone = group(member(history=[], ordinal=6))
    fixed = group(member(history=here, ordinal=7), state="fixed")
    counts = {"unchanged": 60, "suspect": 2, "below_resolution": 9, "needs_more_dumps": 4}
    parts = tally_night(counts, [slower, again, new, gone, fixed], "b42")
    assert [(part.kind, part.word, part.size) for part in parts] == [
        ("slower", "slower", 2),
        ("new", "new, not confirmed yet", 1),
        ("unchanged", "unchanged", 59),
        ("unsure", "too fast to judge", 9),
        ("unsure", "too few dumps", 4),
    ]
    assert sum(part.size for part in parts) == 75


def test_tally_counts_with_members_do_not_exceed_the_total() -> None:
    here = [BuildPoint(build="b42", dump_count=9, median_ns=1.0)]
    parts = tally_night({"below_resolution": 1}, [group(member(history=here))], "b42")
    assert [(part.word, part.size) for part in parts] == [("slower", 1)]


def test_muted_operators_of_alerts_that_have_others_are_not_unchanged() -> None:
    here = [BuildPoint(build="b42", dump_count=9, median_ns=1.0)]
    parts = tally_night({"unchanged": 9}, [group(member(history=here))], "b42", muted=2)
    assert [(part.word, part.size) for part in parts] == [
        ("slower", 1), ("muted", 2), ("unchanged", 6),
    ]  # fmt: skip
