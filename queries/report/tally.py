"""Counts of the operators of two builds by verdict, which add up to all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from tracehouse.queries.report.figures import count_text, name_text
from tracehouse.queries.report.parts import Row
from tracehouse.warehouse.regressions.verdicts import SeriesVerdict

_METHOD = ("device", "model", "backend", "run")
TALLIED = ("level", *_METHOD, "base_count", "head_count", "verdict")  # columns that count
_OF_BOTH = ("new_op", "removed_op")  # verdicts that only methods of both builds have


class OperatorTally(NamedTuple):
    """Operators of methods that both builds have, by verdict; and the others.

    Attributes:
        counts: The number of operators with each verdict.
        methods: The number of methods that became slower or faster.
        only_base: Operators of methods that only the base has.
        only_head: Operators of methods that only the head has.
    """

    counts: Counter[SeriesVerdict]
    methods: Counter[SeriesVerdict]
    only_base: int
    only_head: int

    @property
    def total(self) -> int:
        """The number of operators of methods that both builds have."""
        return self.counts.total()

    def text(self, base: str, head: str) -> str:
        """The counts in words, methods and changes first."""
        changes, others = (
            [
                f"{self.counts[verdict]:,} {verdict.words}"
                for verdict in SeriesVerdict
                if verdict.is_change == is_change and self.counts[verdict]
            ]
            for is_change in (True, False)
        )
        found = f"{', '.join(changes)} of" if changes else "no change found in"
        parts = [
            f"{count_text(self.methods[verdict], 'method')} {verdict.words}"
            for verdict in (SeriesVerdict.REGRESSION, SeriesVerdict.IMPROVEMENT)
            if self.methods[verdict]
        ]
        parts.append(f"{found} {count_text(self.total, 'operator')}")
        parts += [", ".join(others)] if others else []
        for count, build in ((self.only_base, base), (self.only_head, head)):
            if count:
                parts.append(f"{count:,} more of methods that only {name_text(build)} has")
        return "; ".join(parts)


def tally_operators(rows: Iterable[Row]) -> OperatorTally:
    """The operators of rows of the query `comparison`, counted once, whatever their level says."""
    rows = [row for row in rows if row["level"] in ("method", "delegate", "operator")]
    sides: dict[tuple[object, ...], list[bool]] = {}
    for row in rows:
        has = sides.setdefault(_method_of(row), [False, False])
        is_of_both = row["verdict"] in _OF_BOTH
        has[0] |= bool(row["base_count"]) or is_of_both
        has[1] |= bool(row["head_count"]) or is_of_both
    counts: Counter[SeriesVerdict] = Counter()
    only: Counter[bool] = Counter()
    for row in rows:
        if row["level"] != "operator":
            continue
        has_base, has_head = sides[_method_of(row)]
        if has_base == has_head:  # without values of either, both have too few dumps
            counts[SeriesVerdict(row["verdict"])] += 1
        else:
            only[has_head] += 1
    methods = Counter(SeriesVerdict(row["verdict"]) for row in rows if row["level"] == "method")
    return OperatorTally(counts, methods, only[False], only[True])


def _method_of(row: Row) -> tuple[object, ...]:
    return tuple(row[name] for name in _METHOD)
