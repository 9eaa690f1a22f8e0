"""Export of a store into a lake: new dumps are written, changed and forgotten ones replaced."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

import duckdb
import pyarrow as pa

from tracehouse.ingest.batching import batches
from tracehouse.warehouse.lake.commits import LakeState, lake_errors, read_state, sum_bytes
from tracehouse.warehouse.lake.connections import reading_lake
from tracehouse.warehouse.lake.layout import SHARED_TABLES
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.lake.plans import LakeChange, clear_plans
from tracehouse.warehouse.lake.tables import LakeIds, locate_dumps, unmerged_name
from tracehouse.warehouse.lake.writing import (
    PART_EVENTS,
    LakeDump,
    drop_unreferenced_rows,
    read_dumps,
    remove_dumps,
    write_parts,
)

_FORGOTTEN = """
SELECT sha256 FROM forgotten_dumps WHERE sha256 NOT IN (SELECT sha256 FROM dumps)
"""
_BY = "export"


class ExportSummary(NamedTuple):
    """The result of an export in numbers.

    Attributes:
        new_dumps: Dumps that the lake did not have.
        changed_dumps: Dumps whose rows were replaced.
        forgotten_dumps: Dumps that were removed.
        events: Profile events written.
        bytes: Size of the files written.
    """

    new_dumps: int = 0
    changed_dumps: int = 0
    forgotten_dumps: int = 0
    events: int = 0
    bytes: int = 0


class ExportProgress(NamedTuple):
    """Progress of an export: dumps written, total dumps to write, and events written."""

    done_files: int
    total_files: int
    n_events: int


class _Work(NamedTuple):
    """The work of an export: dumps to write, and dumps of the lake to remove."""

    new: Sequence[LakeDump]
    changed: Sequence[LakeDump]
    gone: Collection[str]


def export_store(
    connection: duckdb.DuckDBPyConnection,
    lake: Lake,
    *,
    progress: Callable[[ExportProgress], None] | None = None,
) -> ExportSummary:
    """Update a lake from a store; unchanged dumps are not written again.

    The connection is within a transaction. After a kill at any moment, the next export goes on
    from the last commit. `progress` is called after each commit.

    Raises:
        LakeError: The lake cannot be read or written.
    """
    clear_plans(lake)
    done = ExportSummary()
    with lake_errors(lake):
        work = _compare(connection, lake)
        total = len(work.new) + len(work.changed)
        for step in _export(connection, lake, work):
            done = ExportSummary(*map(sum, zip(done, step, strict=True)))
            if progress:
                progress(ExportProgress(done.new_dumps + done.changed_dumps, total, done.events))
    return done


def _compare(connection: duckdb.DuckDBPyConnection, lake: Lake) -> _Work:
    with reading_lake(lake, read_state(lake)) as shared:
        held = {dump.sha256: dump for dump in read_dumps(shared)}
    own = read_dumps(connection)
    forgotten = {row[0] for row in connection.execute(_FORGOTTEN).fetchall()}
    return _Work(
        [dump for dump in own if dump.sha256 not in held],
        [dump for dump in own if dump.sha256 in held and dump.changes(held[dump.sha256])],
        forgotten & held.keys(),
    )


def _export(
    connection: duckdb.DuckDBPyConnection, lake: Lake, work: _Work
) -> Iterator[ExportSummary]:
    """Do the work; yields a summary of each commit."""
    lake_ids = LakeIds.of(connection)
    if work.changed or work.gone:
        yield _replace(connection, lake, work, lake_ids)
    state = read_state(lake)
    known: Mapping[str, pa.Table] | None = _known_keys(lake, state)
    # As many dumps are committed together as make a part, even if they are of several parts.
    for dumps in [*batches(work.new, attrgetter("n_events"), PART_EVENTS)] or [[]]:
        change = LakeChange(lake, state, _BY)
        write_parts(change, connection, dumps, lake_ids, known)
        change.commit()
        yield _summarize(change, dumps, new_dumps=len(dumps))
        known = None


def _replace(
    connection: duckdb.DuckDBPyConnection, lake: Lake, work: _Work, lake_ids: LakeIds
) -> ExportSummary:
    """Remove changed and forgotten dumps from their parts, and write the changed ones again."""
    change = LakeChange(lake, read_state(lake), _BY)
    hashes = {dump.sha256 for dump in work.changed}.union(work.gone)
    write_parts(change, connection, work.changed, lake_ids)
    held = locate_dumps(lake, change.state)
    remove_dumps(change, (dump for dump in held if dump.sha256 in hashes))
    change.commit()
    if work.gone:
        rest = LakeChange(lake, read_state(lake), _BY)
        drop_unreferenced_rows(rest)
        rest.commit()
    return _summarize(
        change, work.changed, changed_dumps=len(work.changed), forgotten_dumps=len(work.gone)
    )


def _summarize(change: LakeChange, dumps: Iterable[LakeDump], **counts: int) -> ExportSummary:
    events = sum(dump.n_events for dump in dumps)
    return ExportSummary(**counts, events=events, bytes=sum_bytes(change.added))


def _known_keys(lake: Lake, state: LakeState) -> dict[str, pa.Table]:
    """Keys of the shared rows that the lake has, by table."""
    with reading_lake(lake, state) as connection:
        return {
            table: connection.sql(
                f"SELECT DISTINCT {', '.join(keys)} FROM {unmerged_name(table)}"  # noqa: S608
            ).to_arrow_table()
            for table, keys in SHARED_TABLES.items()
        }
