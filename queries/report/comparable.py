"""Whether two builds can be compared at all: by what recorded them, and by their clocks."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from statistics import median
from typing import Any

from tracehouse.queries.report.figures import and_more, build_text, name_text
from tracehouse.queries.report.parts import Row
from tracehouse.warehouse.queryable import Queryable

_PLACES = ("device", "model", "backend", "clock")
_OBSTACLES = {  # what the builds do not have in common
    "device": "No device recorded both builds",
    "model": "No device recorded both builds with one model",
    "backend": "No model was recorded on one backend in both builds",
    "clock": "The clocks of the builds cannot be converted into each other",
}
_FACTORS = (1e3, 1e6, 1e-3, 1e-6)  # between the units of clocks
# Columns of the query `comparison` that are read here.
COLUMNS = ("level", "device", "base_count", "head_count", "base_ns", "head_ns", "state_delta")
_NEAR = math.log(1.5)  # more than any build changes all operators of a device at once


def find_obstacle(store: Queryable, rows: Iterable[Row], *, base: str, head: str) -> str | None:
    """Why no operator of two builds can be compared; None if some can.

    They need a model on a device and backend that both recorded, in clocks that can be converted.
    `rows` are those of the query `comparison`.
    """
    if any(row["base_count"] and row["head_count"] for row in rows):
        return None
    dumps = store.query("dumps", build=[base, head]).to_pylist()
    sides = [row | {"clock": _clock(row["tick_unit"])} for row in dumps]
    was, now = ([row for row in sides if row["build"] == build] for build in (base, head))
    for count in range(1, len(_PLACES) + 1):
        names = _PLACES[:count]
        if not {_key(row, names) for row in was} & {_key(row, names) for row in now}:
            what = _PLACES[count - 1]
            named = ((build_text(base), was), (build_text(head), now))
            told = " and ".join(f"{build} {_list(own, what)}" for build, own in named)
            return f"{_OBSTACLES[what]}: {told}"
    return None


def note_clocks(rows: Iterable[Row], *, base: str) -> list[str]:
    """Notes on devices whose times are all 1,000 or 1,000,000 times those of the base, or a part.

    `rows` are those of the query `comparison`.
    """
    shifts: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if row["level"] == "operator" and row["device"] and row["base_ns"] and row["head_ns"]:
            of_state = math.log1p(row["state_delta"] or 0.0)  # which the values leave out
            shifts[row["device"]].append(math.log(row["head_ns"] / row["base_ns"]) + of_state)
    notes = []
    for device, found in shifts.items():
        typical = median(found)
        for factor in _FACTORS:
            if abs(typical - math.log(factor)) < _NEAR:
                times = f"{factor:,.0f}" if factor > 1 else f"1/{1 / factor:,.0f}"
                notes.append(
                    f"{name_text(device)}: times are {times} times those of {name_text(base)}: is "
                    "the clock stated rightly for both? 'tracehouse store amend' corrects dumps"
                )
    return notes


def _clock(tick_unit: str) -> str:
    return "cycles of unknown rate" if tick_unit == "cycles" else "time"


def _key(row: Row, names: Iterable[str]) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


def _list(rows: Iterable[Row], name: str) -> str:
    """The values of a column, for people: the first one and the number of others."""
    values = sorted({str(row[name]) for row in rows if row[name] is not None})
    words = "has none" if not values else and_more(name_text(values[0]), len(values))
    if not values:
        return words
    return f"counts {words}" if name == "clock" else f"is on {words}"
