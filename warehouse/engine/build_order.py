"""The order of builds: worked out here alone, and stored, for all queries, reports and pages.

The table build_order follows from the builds and dumps of a store. It is written in the transaction
that changes them, because no query could afford to work it out: parents lead from build to build.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import duckdb
import pyarrow as pa

from tracehouse.ingest.manifest.times import EARLIEST
from tracehouse.ingest.schemas.upkeep import BUILD_ORDER
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.engine.connection import register_temporarily

# A lake's ids are wider than a store's.
_SCHEMA = BUILD_ORDER.set(0, BUILD_ORDER.field(0).with_type(pa.int64()))
_BUILDS = """
SELECT build_id, name, branch, role, parent, ordinal, epoch_us(committed_at) FROM builds
"""
_COLUMNS = """epoch_us(captured_at), device_count, epoch_us(first_captured_at),
epoch_us(last_captured_at)"""
_STORED = f"SELECT build_id, position, {_COLUMNS} FROM build_order"  # noqa: S608
_DELETE = "DELETE FROM build_order WHERE build_id IN (SELECT unnest(?))"
_EARLIEST = EARLIEST.timestamp() * 1e6  # of a commit
_MOST_FORKS = 10  # of forks: branches that wait for each other are not looked at any deeper

_Times = tuple[int | None, int, int | None, int | None]  # in microseconds
_Row = tuple[int, int, int | None, int, int | None, int | None]  # id, place and times
_UNKNOWN: _Times = (None, 0, None, None)


class BuildFacts(NamedTuple):
    """What orders a build among others; None if unknown.

    Attributes:
        name: Id of the build.
        branch: Its branch.
        role: Its role; builds with a role do not belong to their branch.
        parent: Id of the build that it was made from.
        ordinal: Its stated place among the builds of its branch.
        committed_at: Time of its commit, in microseconds.
        captured_at: Time of its recording on a typical device, in microseconds.
    """

    name: str
    branch: str | None = None
    role: str | None = None
    parent: str | None = None
    ordinal: int | None = None
    committed_at: int | None = None
    captured_at: int | None = None

    @property
    def series(self) -> tuple[str | None, str | None]:
        """The branch; builds with a role are apart."""
        return self.branch, self.role

    @property
    def date(self) -> tuple[object, ...]:
        """The build's place by what it states about itself; what is unknown comes last."""
        is_wrong = self.committed_at is not None and self.committed_at < _EARLIEST
        commit = self.captured_at if is_wrong else self.committed_at
        stated = (self.ordinal, commit, self.captured_at)
        return *((value is None, value or 0) for value in stated), self.name


def order_builds(builds: Iterable[BuildFacts]) -> list[BuildFacts]:
    """Builds by ordinals, then parents, then times of commits, then of recordings, then names.

    For a commit from before 2020, whose time is wrong, the time of its recording counts.

    A parent comes before its child, whatever the dates say. On one branch, a parent with a later
    date moves in front of its child, as one wrong date would otherwise move all builds after it.
    A build that was made from one of another branch waits for it, together with what follows on
    its own branch, so a trial never reorders the builds that it was made from. Two ordinals of one
    branch overrule parents. Where builds are each other's ancestors, by mistake, the earliest of
    them comes first.
    """
    ordered = sorted(builds, key=lambda build: build.date)
    rank = {build.name: number for number, build in enumerate(ordered)}
    parents = [_find_parent(build, ordered, rank) for build in ordered]
    due = _delay_forks(ordered, parents)
    found: dict[int, None] = {}  # in order
    for number in sorted(range(len(ordered)), key=lambda n: (due[n], due[n] > n, n)):
        line: dict[int, None] = {}  # of builds, each with its parent after it
        current: int | None = number
        while current is not None and current not in found and current not in line:
            line[current] = None
            current = parents[current]
        chain = list(line)
        if current in line:
            start = chain.index(current)
            first = chain.index(min(chain[start:])) + 1  # the earliest of the circle
            chain[start:] = [*chain[first:], *chain[start:first]]
        found.update(dict.fromkeys(reversed(chain)))
    return [ordered[number] for number in found]


def _find_parent(
    build: BuildFacts, ordered: Sequence[BuildFacts], rank: dict[str, int]
) -> int | None:
    """The number of the build that must come before a build; None if any may."""
    number = None if build.parent is None else rank.get(build.parent)
    if number is None:
        return None
    parent = ordered[number]
    is_numbered = None not in (build.ordinal, parent.ordinal) and build.series == parent.series
    return None if is_numbered else number


def _delay_forks(ordered: Sequence[BuildFacts], parents: Sequence[int | None]) -> list[int]:
    """For each build, the number of the build that it must not come before: by default its own.

    Builds wait for parents on other branches, and for the builds before them on their branch that
    wait; trials and references do not follow each other.
    """
    due = list(range(len(ordered)))
    forks = {
        number: parent
        for number, parent in enumerate(parents)
        if parent is not None and ordered[parent].series != ordered[number].series
    }
    if all(parent < number for number, parent in forks.items()):
        return due
    for _ in range(_MOST_FORKS):
        before = due.copy()
        waiting: defaultdict[str | None, int] = defaultdict(int)
        for number, build in enumerate(ordered):
            due[number] = max(due[number], due[forks.get(number, number)])
            if build.role is None:
                waiting[build.branch] = due[number] = max(due[number], waiting[build.branch])
        if due == before:
            break
    return due


def read_build_order(connection: duckdb.DuckDBPyConnection) -> pa.Table:
    """The rows of build_order that follow from the builds and dumps of a store or lake."""
    return _table(_order(connection, _read_times(connection, None)))


def update_build_order(
    connection: duckdb.DuckDBPyConnection, builds: Collection[int] | None = None
) -> None:
    """Bring build_order up to date in the open transaction.

    Args:
        connection: Writes the store.
        builds: The builds whose dumps were changed; None if any may have been.
    """
    found = connection.execute(_STORED).fetchall()
    stored: dict[int, _Row] = {row[0]: row for row in found}
    times = _read_times(connection, builds)
    if builds is not None:
        times = {id_: row[2:] for id_, row in stored.items() if id_ not in builds} | times
    rows = {row[0]: row for row in _order(connection, times)}
    is_damaged = len(found) > len(stored)
    changed = {id_ for id_ in rows.keys() | stored if rows.get(id_) != stored.get(id_)}
    if is_damaged:
        changed = rows.keys() | stored
    if outdated := changed & stored.keys():
        connection.execute(_DELETE, [sorted(outdated)])
    if new := [rows[id_] for id_ in sorted(changed & rows.keys())]:
        with register_temporarily(connection, "ordered", _table(new)):
            connection.execute("INSERT INTO build_order SELECT * FROM ordered")


def _read_times(
    connection: duckdb.DuckDBPyConnection, builds: Collection[int] | None
) -> dict[int, _Times]:
    """When builds were recorded, by default all."""
    text = f"SELECT build_id, {_COLUMNS} FROM ({read_statement('capture_times')})"  # noqa: S608
    chosen = {"builds": None if builds is None else sorted(builds)}
    return {row[0]: row[1:] for row in connection.execute(text, chosen).fetchall()}


def _order(connection: duckdb.DuckDBPyConnection, times: Mapping[int, _Times]) -> Iterator[_Row]:
    ids, facts = {}, []
    for id_, *stated in connection.execute(_BUILDS).fetchall():
        facts.append(BuildFacts(*stated, times.get(id_, _UNKNOWN)[0]))  # type: ignore[call-arg]
        ids[facts[-1].name] = id_
    for position, build in enumerate(order_builds(facts), start=1):
        id_ = ids[build.name]
        yield (id_, position, *times.get(id_, _UNKNOWN))


def _table(rows: Iterable[_Row]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(_SCHEMA)
    arrays = [
        pa.array(column, pa.int64()).cast(field.type)
        for column, field in zip(columns, _SCHEMA, strict=True)
    ]
    return pa.table(arrays, _SCHEMA)
