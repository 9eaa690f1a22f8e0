"""Export of a store into a lake: new dumps are written, changed and forgotten ones replaced."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from operator import attrgetter
from typing import NamedTuple

import duckdb
import pyarrow as pa

from ingest.batching import batches
from warehouse.lake.commits import LakeState, read_state, sum_bytes
from warehouse.lake.connections import LakeConnections
from warehouse.lake.damage import lake_errors
from warehouse.lake.dump_locations import DumpLocation, locate_dumps, removed_part_names
from warehouse.lake.place import Lake
from warehouse.lake.plans import clear_plans
from warehouse.lake.rewriting import remove_dumps
from warehouse.lake.schemas import SHARED_TABLES
from warehouse.lake.shared_tables import drop_unreferenced_rows
from warehouse.lake.views import unmerged_name
from warehouse.lake.writing import (
    PART_EVENTS,
    LakeDump,
    commit_written,
    plan_parts,
    read_dumps,
    read_lake_ids,
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
    gone: Sequence[DumpLocation]


def export_store(
    connection: duckdb.DuckDBPyConnection,
    lake: Lake,
    *,
    progress: Callable[[ExportProgress], None] | None = None,
) -> ExportSummary:
    """Update a lake from a store; unchanged dumps are not written again.

    The connection is within a transaction. The lake is made if there is none. After a kill at any
    moment, the next export goes on from the last commit. `progress` is called after each commit.

    Raises:
        LakeError: The lake cannot be read or written.
    """
    lake.begin()
    clear_plans(lake)
    with lake_errors(lake):
        return _export(connection, lake, progress)


def _export(
    connection: duckdb.DuckDBPyConnection,
    lake: Lake,
    progress: Callable[[ExportProgress], None] | None,
) -> ExportSummary:
    state = read_state(lake)
    held = locate_dumps(lake, state)
    work = _compare(connection, lake, state, held)
    report = partial(_report, progress or (lambda _: None), work)
    done = ExportSummary()
    if work.changed or work.gone:
        done = _replace(connection, lake, state, held, work)
        report(done)
    state = read_state(lake)
    known: Mapping[str, pa.Table] | None = _known_keys(lake, state)
    # As many dumps are committed together as make a part, even if they are of several parts.
    for dumps in [*batches(work.new, attrgetter("n_events"), PART_EVENTS)] or [[]]:
        done = _write(connection, lake, state, dumps, known, done)
        known = None
        report(done)
    return done


def _report(progress: Callable[[ExportProgress], None], work: _Work, done: ExportSummary) -> None:
    written, total = done.new_dumps + done.changed_dumps, len(work.new) + len(work.changed)
    progress(ExportProgress(written, total, done.events))


def _compare(
    connection: duckdb.DuckDBPyConnection,
    lake: Lake,
    state: LakeState,
    held: Sequence[DumpLocation],
) -> _Work:
    own = {dump.sha256: dump for dump in read_dumps(connection)}
    with closing(LakeConnections(lake, state)) as connections:
        shared = {dump.sha256: dump for dump in read_dumps(connections.connection("trusted"))}
    forgotten = {row[0] for row in connection.execute(_FORGOTTEN).fetchall()}
    changed = [
        dump for dump in own.values() if dump.sha256 in shared and dump.changes(shared[dump.sha256])
    ]
    return _Work(
        [dump for dump in own.values() if dump.sha256 not in shared],
        changed,
        [dump for dump in held if dump.sha256 in forgotten],
    )


def _replace(
    connection: duckdb.DuckDBPyConnection,
    lake: Lake,
    state: LakeState,
    held: Sequence[DumpLocation],
    work: _Work,
) -> ExportSummary:
    """Remove changed and forgotten dumps from their parts, and write the changed ones again."""
    hashes = {dump.sha256 for dump in work.changed} | {dump.sha256 for dump in work.gone}
    lake_ids = read_lake_ids(connection)
    planned = plan_parts(work.changed, removed_part_names(state))
    written = [write_parts(connection, lake, planned, lake_ids)]
    rest, removed = remove_dumps(lake, state, (dump for dump in held if dump.sha256 in hashes))
    written += rest
    commit_written(lake, written, by=_BY, removed=removed)
    if work.gone:
        names, files = drop_unreferenced_rows(lake, read_state(lake))
        commit_written(lake, [names], by=_BY, removed=files)
    return ExportSummary(
        changed_dumps=len(work.changed),
        forgotten_dumps=len(work.gone),
        events=sum(dump.n_events for dump in work.changed),
        bytes=sum_bytes(file for one in written for file in one.added),
    )


def _write(
    connection: duckdb.DuckDBPyConnection,
    lake: Lake,
    state: LakeState,
    dumps: Sequence[LakeDump],
    known: Mapping[str, pa.Table] | None,
    done: ExportSummary,
) -> ExportSummary:
    parts = plan_parts(dumps, removed_part_names(state))
    written = write_parts(connection, lake, parts, read_lake_ids(connection), known)
    commit_written(lake, [written], by=_BY)
    return done._replace(
        new_dumps=done.new_dumps + len(dumps),
        events=done.events + sum(dump.n_events for dump in dumps),
        bytes=done.bytes + sum_bytes(written.added),
    )


def _known_keys(lake: Lake, state: LakeState) -> dict[str, pa.Table]:
    """Keys of the shared rows that the lake has, by table."""
    with closing(LakeConnections(lake, state)) as connections:
        connection = connections.connection("trusted")
        return {
            table: connection.sql(
                f"SELECT DISTINCT {', '.join(keys)} FROM {unmerged_name(table)}"  # noqa: S608
            ).to_arrow_table()
            for table, keys in SHARED_TABLES.items()
        }
