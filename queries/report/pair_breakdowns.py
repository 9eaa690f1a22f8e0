"""The breakdowns of the methods of two builds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import islice

from tracehouse.queries.report.breakdown import PLACE, Breakdown
from tracehouse.queries.report.environment import Family
from tracehouse.queries.report.method_breakdowns import (
    MOST_METHODS,
    MethodTimes,
    break_down_methods,
)
from tracehouse.queries.report.parts import Row
from tracehouse.warehouse.queryable import Queryable

_OPERATORS = ("operator", "delegate")  # levels of a method's parts
_MOST_SHOWN = 6  # methods of a comparison


class PairBreakdowns:
    """Makes the breakdowns of two builds."""

    def __init__(self, store: Queryable, rows: Iterable[Row], *, base: str, head: str) -> None:
        """Take the rows of the query `comparison`."""
        self._store, self._builds = store, ([base], [head])
        self._rows: dict[tuple[object, ...], list[Row]] = defaultdict(list)
        for row in rows:
            if row["device"] is not None:
                self._rows[*Family.of(row), row["run"]].append(row)

    def of(self, rows: Iterable[Row]) -> list[Breakdown]:
        """The breakdown of each method that is among some rows or has some, the costliest first.

        Of many methods, only the first ones have one.
        """
        keys = dict.fromkeys((*Family.of(row), row["run"]) for row in rows if row["device"])
        methods = (
            next((row for row in self._rows[key] if row["level"] == "method"), None) for key in keys
        )
        timed = (
            self._times(row)
            for row in methods
            if row is not None and None not in (row["base_ns"], row["head_ns"])
        )
        return break_down_methods(self._store, list(islice(timed, MOST_METHODS)))

    def of_changed_methods(self) -> list[Breakdown]:
        """The breakdowns of the costliest methods that are slower or faster."""
        found = [row for own in self._rows.values() for row in own if _is_changed_method(row)]
        costliest = sorted(found, key=lambda row: -abs(row["cost_ns"] or 0.0))
        return self.of(costliest[:_MOST_SHOWN])

    def _times(self, method: Row) -> MethodTimes:
        parts = self._rows[*Family.of(method), method["run"]]
        return MethodTimes(
            {name: method[name] for name in PLACE},
            method["base_ns"],
            method["head_ns"],
            [(row, row["base_ns"], row["head_ns"]) for row in parts if row["level"] in _OPERATORS],
            self._builds,
            frame=1 / (1 + (method["state_delta"] or 0.0)),
        )


def _is_changed_method(row: Row) -> bool:
    return row["level"] == "method" and row["verdict"] in ("regression", "improvement")
