"""A store exported into a lake: what the lake lacks of it, and what changed of what it has."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import NamedTuple

import duckdb
import pyarrow as pa

from warehouse.lake.answering import LakeAnswering
from warehouse.lake.commits import LakeState, read_state, sum_bytes
from warehouse.lake.damage import damage_told
from warehouse.lake.held import HeldDump, by_part, find_dumps, names_taken
from warehouse.lake.place import Lake
from warehouse.lake.plans import clear_plans
from warehouse.lake.rewriting import write_again
from warehouse.lake.schemas import NAMES
from warehouse.lake.settling import prune_names
from warehouse.lake.views import raw_name
from warehouse.lake.writing import (
    PART_EVENTS,
    LakeDump,
    commit_written,
    plan_parts,
    read_dumps,
    store_numbers,
    write_parts,
)

_FORGOTTEN = """
SELECT sha256 FROM forgotten_dumps WHERE sha256 NOT IN (SELECT sha256 FROM dumps)
"""
_BY = "export"


class Exported(NamedTuple):
    """What an export has done.

    Attributes:
        new_dumps: Dumps that the lake did not have.
        changed_dumps: Dumps whose rows were replaced.
        forgotten_dumps: Dumps that were taken out.
        events: Profile events written.
        bytes: Size of the files written.
    """

    new_dumps: int = 0
    changed_dumps: int = 0
    forgotten_dumps: int = 0
    events: int = 0
    bytes: int = 0


class ExportProgress(NamedTuple):
    """How far an export has come: dumps written, dumps to write in all, and their events."""

    done_files: int
    total_files: int
    n_events: int


class _Work(NamedTuple):
    """What is to be done: dumps to write, and dumps of the lake to take out."""

    new: Sequence[LakeDump]
    changed: Sequence[LakeDump]
    gone: Sequence[HeldDump]


def export_store(
    connection: duckdb.DuckDBPyConnection,
    lake: Lake,
    *,
    progress: Callable[[ExportProgress], None] | None = None,
) -> Exported:
    """Bring a lake up to date with a store; what it has already is not written again.

    Each commit of it is whole: broken off at any moment, the next export goes on from there.

    Args:
        connection: The store, in one state of it.
        lake: The lake, which is made if it is not there.
        progress: Called after each commit.

    Returns:
        What was done.

    Raises:
        LakeError: The lake cannot be read or written.
    """
    lake.begin()
    clear_plans(lake)
    with damage_told(lake):
        return _export(connection, lake, progress)


def _export(
    connection: duckdb.DuckDBPyConnection,
    lake: Lake,
    progress: Callable[[ExportProgress], None] | None,
) -> Exported:
    state = read_state(lake)
    held = find_dumps(lake, state)
    work = _compare(connection, lake, state, held)
    report = partial(_report, progress or (lambda _: None), work)
    done = Exported()
    if work.changed or work.gone:
        done = _replace(connection, lake, state, held, work)
        report(done)
    state = read_state(lake)
    known: Mapping[str, pa.Table] | None = _known_keys(lake, state)
    for dumps in _some(work.new) or [[]]:
        done = _write(connection, lake, state, dumps, known, done)
        known = None
        report(done)
    return done


def _report(progress: Callable[[ExportProgress], None], work: _Work, done: Exported) -> None:
    written, total = done.new_dumps + done.changed_dumps, len(work.new) + len(work.changed)
    progress(ExportProgress(written, total, done.events))


def _compare(
    connection: duckdb.DuckDBPyConnection, lake: Lake, state: LakeState, held: Sequence[HeldDump]
) -> _Work:
    own = {dump.sha256: dump for dump in read_dumps(connection)}
    with closing(LakeAnswering(lake, state)) as answering:
        shared = {dump.sha256: dump for dump in read_dumps(answering.connection("ours"))}
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
    held: Sequence[HeldDump],
    work: _Work,
) -> Exported:
    """Take dumps out of the parts that they are in, and write those that changed, all at once."""
    hashes = {dump.sha256 for dump in work.changed} | {dump.sha256 for dump in work.gone}
    out = by_part(dump for dump in held if dump.sha256 in hashes)
    numbers = store_numbers(connection)
    planned = plan_parts(work.changed, names_taken(state))
    written = [write_parts(connection, lake, planned, numbers)]
    removed: list[str] = []
    for part, dumps in out.items():
        rest, files = write_again(lake, state, [part], {dump.dump_id for dump in dumps})
        written.append(rest)
        removed += files
    commit_written(lake, written, by=_BY, removed=removed)
    if work.gone:
        names, files = prune_names(lake, read_state(lake))
        commit_written(lake, [names], by=_BY, removed=files)
    return Exported(
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
    done: Exported,
) -> Exported:
    parts = plan_parts(dumps, names_taken(state))
    written = write_parts(connection, lake, parts, store_numbers(connection), known)
    commit_written(lake, [written], by=_BY)
    return done._replace(
        new_dumps=done.new_dumps + len(dumps),
        events=done.events + sum(dump.n_events for dump in dumps),
        bytes=done.bytes + sum_bytes(written.added),
    )


def _some(dumps: Sequence[LakeDump]) -> list[list[LakeDump]]:
    """Dumps as they are committed together: as many as make a part, be they of several."""
    groups: dict[int, list[LakeDump]] = defaultdict(list)
    events = 0
    for dump in dumps:
        groups[events // PART_EVENTS].append(dump)
        events += dump.n_events
    return list(groups.values())


def _known_keys(lake: Lake, state: LakeState) -> dict[str, pa.Table]:
    """Keys of the rows that dumps share which the lake has."""
    with closing(LakeAnswering(lake, state)) as answering:
        connection = answering.connection("ours")
        return {
            table: connection.sql(
                f"SELECT DISTINCT {', '.join(keys)} FROM {raw_name(table)}"  # noqa: S608
            ).to_arrow_table()
            for table, keys in NAMES.items()
        }
