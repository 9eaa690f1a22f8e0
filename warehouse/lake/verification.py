"""Verification of a lake: the files of its commits are intact, and there are no other files."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from tracehouse.warehouse.engine.checksums import TABLES_OF_DUMPS, dump_checksums
from tracehouse.warehouse.errors import LakeError
from tracehouse.warehouse.lake.commits import (
    AddedFile,
    LakeState,
    lake_errors,
    read_filled_state,
    read_state,
    size_problem,
)
from tracehouse.warehouse.lake.connections import reading_lake
from tracehouse.warehouse.lake.layout import SUFFIX, TABLES, table_of
from tracehouse.warehouse.lake.place import Lake, LakeFile
from tracehouse.warehouse.lake.plans import planned_files
from tracehouse.warehouse.lake.tables import find_repeated, locate_dumps
from tracehouse.warehouse.lake.writing import read_dumps

_COUNTS = """
SELECT d.sha256, d.n_events, coalesce(e.n, 0) AS n
FROM dumps AS d
LEFT JOIN (SELECT dump_id, count(*) AS n FROM events GROUP BY dump_id) AS e
    ON e.dump_id = d.dump_id
WHERE d.dump_id NOT IN (SELECT dump_id FROM dropped_events)
"""
_AGAIN = (
    "restore it from a copy, or export the lake again: 'tracehouse export lake' into an empty one"
)
_LEFT = "readers do not see it; 'tracehouse lake compact' deletes it when it is a day old"
_TWICE = "'tracehouse lake compact' removes it from all parts but one"

# In a lake, the ids in `dumps` are others, and dumps keep their events.
_OTHERS = {"dumps", "event_histograms", "dropped_events"}
_SAME = [name for name in TABLES_OF_DUMPS if name not in _OTHERS]
_DROPPED = "SELECT dump_id FROM dropped_events"


class LakeProblem(NamedTuple):
    """A fault of a lake: place, problem and remedy."""

    place: str
    problem: str
    remedy: str


def verify_lake(lake: Lake) -> list[LakeProblem]:
    """All faults of a lake.

    Raises:
        LakeError: The lake does not exist, or cannot be read.
    """
    lake.check()
    planned = planned_files(lake)
    there = {file.path: file for file in lake.list() if file.path.endswith(SUFFIX)}
    state = read_state(lake)
    bad = [*_check_files(lake, state.files.values(), there)]
    known = state.files.keys() | state.removed.keys() | planned
    stray = [LakeProblem(path, "is in no commit", _LEFT) for path in sorted(there.keys() - known)]
    if bad:  # queries over the dumps would fail
        return [*bad, *stray]
    return [*stray, *_check_dumps(lake, state)]


def find_whole_dumps(lake: Lake, hashes: Collection[str]) -> set[str]:
    """The dumps among these that the lake has with all their events, in undamaged files.

    Raises:
        LakeError: The lake does not exist, or cannot be read.
    """
    lake.check()
    wanted, state = set(hashes), read_state(lake)
    with lake_errors(lake, state):
        parts = {dump.part for dump in locate_dumps(lake, state) if dump.sha256 in wanted}
    files = state.files_of(parts)
    there = {file.path: file for file in lake.list() if file.path in state.files}
    own = [state.files[path] for path in (*files["events"], *files["dumps"])]
    for problem in _check_files(lake, own, there):
        raise LakeError(lake.name, f"{problem.place}: {problem.problem}; {problem.remedy}")
    with reading_lake(lake, state, parts) as connection:
        rows = connection.execute(_COUNTS).fetchall()
    return {sha256 for sha256, wanted_count, count in rows if count == wanted_count} & wanted


def _check_files(
    lake: Lake, files: Collection[AddedFile], there: dict[str, LakeFile]
) -> Iterator[LakeProblem]:
    for file in sorted(files):
        problem = _check_file(lake, file, there.get(file.path))
        if problem:
            yield LakeProblem(file.path, problem, _AGAIN)


def _check_file(lake: Lake, file: AddedFile, found: LakeFile | None) -> str:
    """The problem with a file; empty if the file is intact."""
    problem = size_problem(file, found)
    if problem:
        return problem
    try:
        with lake.opened(file.path) as stream:
            parquet = pq.ParquetFile(stream)
            rows, schema = parquet.metadata.num_rows, parquet.schema_arrow
    except (LakeError, pa.ArrowException, OSError) as error:
        return f"is damaged ({str(error).splitlines()[0]})"
    if rows != file.rows:
        return f"has {rows:,} rows, wanted {file.rows:,}"
    if not schema.equals(TABLES[table_of(file.path)]):
        return f"has other columns than the table {table_of(file.path)}"
    return ""


def _check_dumps(lake: Lake, state: LakeState) -> Sequence[LakeProblem]:
    """Dumps that are in several parts, or whose number of events is wrong."""
    twice = sorted({dump.sha256 for dump in find_repeated(locate_dumps(lake, state))})
    problems = [LakeProblem(f"dump {sha256}", "is in several parts", _TWICE) for sha256 in twice]
    with reading_lake(lake, state) as connection:
        for sha256, wanted, found in connection.execute(_COUNTS).fetchall():
            if wanted != found and sha256 not in twice:
                problem = f"has {found:,} events, wanted {wanted:,}"
                problems.append(LakeProblem(f"dump {sha256}", problem, _AGAIN))
    return problems


def find_wrong_dumps(connection: duckdb.DuckDBPyConnection, lake: Lake) -> list[tuple[str, str]]:
    """SHA-256 of the dumps with wrong rows in a lake, each with the tables of these rows.

    Dumps that the store lacks, or that changed since they were exported, are left out.

    Raises:
        LakeError: The lake does not exist, or cannot be read.
    """
    state = read_filled_state(lake)
    own = {dump.sha256: dump for dump in read_dumps(connection)}
    dropped = {row[0] for row in connection.execute(_DROPPED).fetchall()}
    wrong: dict[str, list[str]] = {}
    with lake_errors(lake, state), reading_lake(lake, state) as shared:
        both = {
            dump.dump_id: own[dump.sha256]
            for dump in read_dumps(shared)
            if dump.sha256 in own and dump.state == own[dump.sha256].state
        }
        for table in _SAME:
            stored, found = (dump_checksums(one, table) for one in (connection, shared))
            for id_, dump in both.items():
                is_gone = table == "events" and dump.dump_id in dropped
                if not is_gone and stored.get(dump.dump_id) != found.get(id_):
                    wrong.setdefault(dump.sha256, []).append(table)
    return [(sha256, ", ".join(sorted(tables))) for sha256, tables in wrong.items()]
