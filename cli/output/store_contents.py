"""The devices, builds and models of a store, from the rows of the canned query `coverage`."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

from tracehouse.queries.report.figures import count_text

if TYPE_CHECKING:
    import pyarrow as pa

KINDS = ("device", "build", "model")
NIGHTLY_REPORT = ("report",)  # its command line
_NIGHTLY_BUILDS = 4  # of a series, of which a nightly report can judge the last
_MOST_NAMED = 5
_SERIES = ("device", "model", "backend")  # whose rows follow each other, builds in their order
_LATEST = datetime.max.replace(tzinfo=UTC)


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

    time = pa.timestamp("us", "UTC")
    counts = dict.fromkeys(("dump_count", *(f"{kind}_count" for kind in KINDS)), pa.int64())
    types = {"kind": pa.string(), "name": pa.string(), **counts, "backends": pa.string()}
    types |= {"first_captured_at": time, "last_captured_at": time}
    listed = []
    for kind in kinds:
        found = {row[kind]: row for row in _count(coverage, kind).to_pylist()}
        listed += [_row(kind, name, found[name]) for name in _names(coverage, kind)]
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
        columns = {kind: rows["name"], **others, "backends": rows["backends"], **times}
        tables.append(pa.table(columns))
    return [table for table in tables if table.num_rows]


def find_arrivals(coverage: pa.Table, *, since: datetime) -> Arrivals | None:
    """What came into a store since a time; None if nothing did."""
    import pyarrow as pa
    import pyarrow.compute as pc

    time = pa.scalar(since, pa.timestamp("us", "UTC"))
    new = coverage.filter(pc.field("last_ingested_at") >= time)
    if not new.num_rows:
        return None
    counts = coverage.group_by(list(_SERIES)).aggregate(
        [("build", "count_distinct"), ("last_ingested_at", "max")]
    )
    changed = counts.filter(pc.field("last_ingested_at_max") >= time).to_pylist()
    longest = max(changed, key=lambda row: row["build_count_distinct"])
    builds = _order_builds(coverage.filter(_is_of(coverage, longest)))
    return Arrivals({kind: _names(new, kind) for kind in KINDS}, _next_command(builds))


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


def _count(coverage: pa.Table, kind: str) -> pa.Table:
    """The counts of each device, build or model."""
    others = [(other, "count_distinct") for other in KINDS if other != kind]
    own = [("dump_count", "sum"), ("backend", "distinct")]
    times = [("first_captured_at", "min"), ("last_captured_at", "max")]
    return coverage.group_by(kind).aggregate([*own, *others, *times])


def _row(kind: str, name: str, found: dict[str, object]) -> dict[str, object]:
    """The row of `list_contents` of a row of `_count`."""
    backends = found["backend_distinct"]
    named = sorted(filter(None, backends)) if isinstance(backends, list) else []
    return {
        "kind": kind,
        "name": name,
        "dump_count": found["dump_count_sum"],
        **{f"{one}_count": found.get(f"{one}_count_distinct", 1) for one in KINDS},
        "backends": ", ".join(named) or None,
        "first_captured_at": found["first_captured_at_min"],
        "last_captured_at": found["last_captured_at_max"],
    }


def _names(coverage: pa.Table, kind: str) -> list[str]:
    if kind == "build":
        return _order_builds(coverage)
    return sorted(coverage[kind].unique().to_pylist())


def _order_builds(coverage: pa.Table) -> list[str]:
    """All builds in an order that agrees with that of each series; the earlier recorded first."""
    counted = _count(coverage, "build").to_pylist()
    times = {row["build"]: row["first_captured_at_min"] or _LATEST for row in counted}
    after = _find_later(coverage)
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


def _find_later(coverage: pa.Table) -> dict[str, set[str]]:
    """The builds that follow each build immediately in a series."""
    import pyarrow as pa
    import pyarrow.compute as pc

    one, other = coverage.slice(0, max(coverage.num_rows - 1, 0)), coverage.slice(1)
    is_same = reduce(
        pc.and_,
        [pc.equal(pc.fill_null(one[name], ""), pc.fill_null(other[name], "")) for name in _SERIES],
    )
    pairs = pa.table({"one": one["build"], "other": other["build"]}).filter(is_same)
    after: dict[str, set[str]] = defaultdict(set)
    for pair in pairs.group_by(["one", "other"]).aggregate([]).to_pylist():
        if pair["one"] != pair["other"]:  # of two pools
            after[pair["one"]].add(pair["other"])
    return after


def _is_of(coverage: pa.Table, series: dict[str, object]) -> pa.ChunkedArray:
    """Whether each row is of a series."""
    import pyarrow.compute as pc

    return reduce(
        pc.and_,
        [
            pc.is_null(coverage[name]) if series[name] is None
            else pc.fill_null(pc.equal(coverage[name], series[name]), False)
            for name in _SERIES
        ],
    )  # fmt: skip
