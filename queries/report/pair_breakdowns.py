"""The breakdowns of the methods that an alert of two builds shows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from queries.report.breakdown import PLACE, Breakdown, Framework, Work, break_down
from queries.report.environment import Family
from queries.report.parts import Row
from warehouse.queryable import Queryable


class PairBreakdowns:
    """Makes the breakdowns of two builds."""

    def __init__(
        self,
        store: Queryable,
        rows: Iterable[Row],
        types: Mapping[tuple[object, ...], str],
        *,
        base: str,
        head: str,
    ) -> None:
        """Take the rows of `comparison`, and operator types by event name, delegate id and kind."""
        self._framework, self._types, self._builds = Framework(store), types, [[base], [head]]
        self._rows: dict[tuple[object, ...], list[Row]] = defaultdict(list)
        for row in rows:
            self._rows[*Family.of(row), row["run"]].append(row)

    def of(self, rows: Sequence[Row]) -> list[Breakdown]:
        """The breakdown of each method among rows of an alert."""
        return [
            self._break_down(row, (row["base_ns"], row["head_ns"]))
            for row in rows
            if row["level"] == "method" and row["base_ns"] is not None
        ]

    def _break_down(self, method: Row, times: tuple[float, float]) -> Breakdown:
        # The device's state is left out of the method's change, so it is of the framework's, too.
        frame = 1 / (1 + (method["state_delta"] or 0.0))
        works = [
            Work({**row, "op_type": self._type_of(row)}, row["base_ns"], row["head_ns"])
            for row in self._rows[*Family.of(method), method["run"]]
            if row["level"] != "method"
            and (row["base_ns"] is not None or row["head_ns"] is not None)
        ]
        place = {name: method[name] for name in PLACE}
        found = self._framework.times(place, self._builds)
        return break_down(place, times, works, found and (found[0], found[1] * frame))

    def _type_of(self, row: Row) -> str:
        key = (row["event_name"], row["delegate_id"], row["kind"])
        return self._types.get(key, str(row["event_name"]))
