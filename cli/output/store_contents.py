"""The devices, builds and models of a store, from the rows of the canned query `coverage`."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from tracehouse.queries.report.figures import count_text

if TYPE_CHECKING:
    import pyarrow as pa

KINDS = ("device", "build", "model")
NIGHTLY_REPORT = ("report", "--nightly")  # its command line
_NIGHTLY_BUILDS = 4  # of a series, of which a nightly report can judge the last
_MOST_NAMED = 5
_COUNTS = ("dump_count", *(f"{kind}_count" for kind in KINDS))
_LATEST = datetime.max.replace(tzinfo=UTC)
_Row = dict[str, Any]


class Arrivals(NamedTuple):
    """What an ingest brought.

    Attributes:
        names: Names of devices, builds and models, by kind.
        next_command: The command line that shows most of it, without the store.
    """

    names: dict[str, list[str]]
    next_command: tuple[str, ...]

    def __str__(self) -> str:
        """The names in words: all of a kind up to five, else their number alone."""
        return ", ".join(_describe(kind, names) for kind, names in self.names.items())


def list_contents(coverage: pa.Table, kinds: Sequence[str] = KINDS) -> pa.Table:
    """One row per device, build and model, builds in their order and the others by name.

    Columns: `kind`, `name`, the numbers of dumps, devices, builds and models that go with it,
    `backends`, `first_captured_at` and `last_captured_at`.
    """
    import pyarrow as pa

    rows = coverage.to_pylist()
    listed = []
    for kind in kinds:
        groups = _group(rows, itemgetter(kind))
        listed += [_count(kind, name, groups[name]) for name in _names(rows, kind)]
    time = pa.timestamp("us", "UTC")
    types = {"kind": pa.string(), "name": pa.string(), **dict.fromkeys(_COUNTS, pa.int64())}
    types |= {"backends": pa.string(), "first_captured_at": time, "last_captured_at": time}
    return pa.Table.from_pylist(listed, pa.schema(types))


def tables_for_people(contents: pa.Table) -> list[pa.Table]:
    """The rows of `list_contents` as one table for each kind, in short words."""
    import pyarrow as pa
    import pyarrow.compute as pc

    tables = []
    for kind in KINDS:
        rows = contents.filter(pc.field("kind") == kind)
        others = {f"{one}s": rows[f"{one}_count"] for one in ("dump", *KINDS) if one != kind}
        times = {
            name: pc.strftime(rows[f"{name}_captured_at"], "%Y-%m-%d %H:%MZ")
            for name in ("first", "last")
        }
        tables.append(
            pa.table({kind: rows["name"], **others, "backends": rows["backends"], **times})
        )
    return [table for table in tables if table.num_rows]


def find_arrivals(coverage: pa.Table, *, since: datetime) -> Arrivals | None:
    """What came into a store since a time; None if nothing did."""
    rows = coverage.to_pylist()
    new = [row for row in rows if row["last_ingested_at"] >= since]
    if not new:
        return None
    builds = _builds_of_series(rows)
    longest = max((builds[series] for series in _builds_of_series(new)), key=len)
    return Arrivals({kind: _names(new, kind) for kind in KINDS}, _next_command(longest))


def _next_command(builds: Sequence[str]) -> tuple[str, ...]:
    """The command line that fits the builds of a series."""
    if len(builds) >= _NIGHTLY_BUILDS:
        return NIGHTLY_REPORT
    if len(builds) > 1:
        return "compare", *builds[-2:]
    return "query", "operator_hotspots", "--build", builds[-1]


def _describe(kind: str, names: Sequence[str]) -> str:
    counted = count_text(len(names), kind)
    return counted if len(names) > _MOST_NAMED else f"{counted} ({', '.join(names)})"


def _group(rows: Iterable[_Row], key: Callable[[_Row], Any]) -> dict[Any, list[_Row]]:
    groups: dict[Any, list[_Row]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return groups


def _count(kind: str, name: str, rows: Sequence[_Row]) -> _Row:
    """The row about one device, build or model, of its rows of `coverage`."""
    first = [row["first_captured_at"] for row in rows if row["first_captured_at"]]
    last = [row["last_captured_at"] for row in rows if row["last_captured_at"]]
    backends = sorted({row["backend"] for row in rows if row["backend"]})
    return {
        "kind": kind,
        "name": name,
        "dump_count": sum(row["dump_count"] for row in rows),
        **{f"{one}_count": len({row[one] for row in rows}) for one in KINDS},
        "backends": ", ".join(backends) or None,
        "first_captured_at": min(first, default=None),
        "last_captured_at": max(last, default=None),
    }


def _names(rows: Sequence[_Row], kind: str) -> list[str]:
    if kind == "build":
        return _order_builds(rows)
    return sorted({row[kind] for row in rows})


def _builds_of_series(rows: Iterable[_Row]) -> dict[Hashable, list[str]]:
    """The builds of each device, model and backend, in the order of the rows, which is theirs."""
    series = _group(rows, itemgetter("device", "pool", "model", "backend"))
    return {key: [row["build"] for row in some] for key, some in series.items()}


def _order_builds(rows: Sequence[_Row]) -> list[str]:
    """All builds in an order that agrees with that of each series; the earlier recorded first."""
    times: dict[str, datetime] = {}
    for row in rows:
        build, time = row["build"], row["first_captured_at"] or _LATEST
        times[build] = min(times.get(build, _LATEST), time)
    after: dict[str, set[str]] = {build: set() for build in times}
    for builds in _builds_of_series(rows).values():
        for one, other in pairwise(builds):
            after[one].add(other)
    waits = dict.fromkeys(times, 0)
    for build in (later for some in after.values() for later in some):
        waits[build] += 1
    ready = [(times[build], build) for build, count in waits.items() if not count]
    heapq.heapify(ready)
    ordered: list[str] = []
    while ready:
        _, build = heapq.heappop(ready)
        ordered.append(build)
        for later in after[build]:
            waits[later] -= 1
            if not waits[later]:
                heapq.heappush(ready, (times[later], later))
    return ordered
