"""The values of the dumps of two builds, as the query `comparison` compares them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple

from queries.report.night import SERIES
from warehouse.queryable import Queryable

Key = tuple[object, ...]

_REFERENCES = """SELECT dump_id, build, session FROM named_dumps
WHERE build_role = 'reference' OR build IN ($base, $head)"""


class _Value(NamedTuple):
    build: str
    session: str | None
    value: float


def read_values(
    store: Queryable, base: str, head: str, *, has_reference: bool
) -> dict[Key, dict[str, list[float]]]:
    """Values of the dumps of each series, by build.

    Args:
        store: The store.
        base: One build.
        head: The other.
        has_reference: Whether reference builds were recorded with both: values are then relative
            to them if possible, and those of sessions without a reference are left out.
    """
    rows = store.sql(_REFERENCES, {"base": base, "head": head}).to_pylist() if has_reference else []
    sessions = {row["dump_id"]: row["session"] for row in rows}
    builds = sorted({base, head, *(row["build"] for row in rows)})
    found: dict[Key, list[_Value]] = defaultdict(list)
    for row in store.query("dump_values", build=builds).to_pylist():
        session = sessions.get(row["dump_id"])
        key = tuple(row[name] for name in SERIES)
        found[key].append(_Value(row["build"], session, row["value"]))
    return {key: _compared(own, (base, head)) for key, own in found.items()}


def _compared(values: Sequence[_Value], builds: tuple[str, str]) -> dict[str, list[float]]:
    """The values of two builds, relative to a reference if both were recorded with one."""
    levels = _reference_levels(values, builds)
    own = [value for value in values if value.build in builds]
    with_reference = [value for value in own if value.session in levels]
    if {value.build for value in with_reference} == set(builds):
        usual = median({value.session: levels[value.session] for value in with_reference}.values())
        own = [
            each._replace(value=each.value * math.exp(usual - levels[each.session]))
            for each in with_reference
        ]
    by_build: dict[str, list[float]] = defaultdict(list)
    for value in own:
        by_build[value.build].append(value.value)
    return by_build


def _reference_levels(values: Iterable[_Value], builds: tuple[str, str]) -> dict[str | None, float]:
    """The time of the reference in each session, a logarithm; of several, the last by name."""
    logs: dict[tuple[str | None, str], list[float]] = defaultdict(list)
    for value in values:
        if value.build not in builds and value.session is not None and value.value > 0:
            logs[value.session, value.build].append(math.log(value.value))
    ordered = sorted(logs.items(), key=lambda item: item[0][1])
    return {session: median(own) for (session, _), own in ordered}
