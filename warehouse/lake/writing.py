"""Dumps of a store, or of a store in memory, written into a lake."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

import duckdb
import numpy as np
import pyarrow as pa

from tracehouse.ingest.batching import batches
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.engine.connection import register_temporarily
from tracehouse.warehouse.lake.commits import AddedFile, new_id
from tracehouse.warehouse.lake.connections import reading_lake
from tracehouse.warehouse.lake.layout import (
    FACTS,
    SHARED_TABLES,
    TABLES,
    LakePart,
    Partition,
    name_part,
    shared_path,
)
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.lake.plans import LakeChange
from tracehouse.warehouse.lake.tables import (
    DIMENSION_KEYS,
    DumpLocation,
    LakeIds,
    rows_in_memory,
    unmerged_name,
    write_select,
    write_table,
)

PART_EVENTS = 25_000_000  # about 125 MB
_COUNTS = """
SELECT dump_id, count(*) FROM {} WHERE dump_id IN (SELECT dump_id FROM wanted) GROUP BY dump_id
"""

_WITH_LAKE_IDS = {f"{kind}s" for kind in DIMENSION_KEYS}
_BY_KEY = {"tensors", "etrecords"}  # the rows of a key are interchangeable
_RECORDS = "etrecord_id IN (SELECT etrecord_id FROM dumps)"
_TRACED = """(etrecord_id, run_signature_id) IN (
    SELECT (d.etrecord_id, r.run_signature_id)
    FROM dumps AS d JOIN runs AS r ON r.dump_id = d.dump_id
)"""
# Condition for the rows of a table that dumps refer to; other tables keep all rows.
_USED = {
    "builds": "build_id IN (SELECT build_id FROM dumps)",
    "run_signatures": "run_signature_id IN (SELECT run_signature_id FROM runs)",
    "event_signatures": """event_signature_id IN (
        SELECT unnest(events) FROM run_signatures
        WHERE run_signature_id IN (SELECT run_signature_id FROM runs)
        UNION ALL SELECT event_signature_id FROM event_stats
        UNION ALL SELECT event_signature_id FROM delegate_metadata
    )""",
    "tensors": "sha256 IN (SELECT sha256 FROM debug_values)",
    "etrecords": _RECORDS,
    "graph_nodes": _RECORDS,
    "debug_handles": _RECORDS,
    "delegates": _RECORDS,
    "event_origins": _TRACED,
    "event_modules": _TRACED,
    "ingest_errors": "coalesce(sha256 NOT IN (SELECT sha256 FROM forgotten_dumps), true)",
}


class LakeDump(NamedTuple):
    """A dump to write into a lake: a row of lake_dumps.sql."""

    dump_id: int
    sha256: str
    date: str
    model: str
    n_events: int
    state: str
    manifest_sha256: str
    etrecord_id: int | None
    debug_buffer_sha256: str | None

    @property
    def partition(self) -> Partition:
        """The partition of its rows."""
        return Partition(self.date, self.model)

    def changes(self, other: LakeDump) -> bool:
        """Whether this dump differs from another state of the same dump.

        An ETRecord or debug buffer that only the other state has is not a difference: it stays.
        """
        return (
            self.manifest_sha256 != other.manifest_sha256
            or self.etrecord_id not in {None, other.etrecord_id}
            or self.debug_buffer_sha256 not in {None, other.debug_buffer_sha256}
        )


Parts = Mapping[LakePart, Sequence[LakeDump]]


def write_parts(
    change: LakeChange,
    connection: duckdb.DuckDBPyConnection,
    dumps: Iterable[LakeDump],
    lake_ids: LakeIds,
    known: Mapping[str, pa.Table] | None = None,
) -> None:
    """Write dumps, and shared rows except those of `known` keys; no shared rows if None.

    Raises:
        LakeError: The lake cannot be written.
    """
    name, parts = new_id(), plan_parts(dumps, change.state.removed_names)
    change.plan(name, _paths(parts, [] if known is None else SHARED_TABLES, name))
    if known is not None:
        change.added += write_shared_rows(connection, change.lake, name, lake_ids, known)
    change.added += _write_parts(connection, change.lake, parts, lake_ids)


def write_group(connection: duckdb.DuckDBPyConnection, lake: Lake, name: str) -> list[AddedFile]:
    """Write the rows of all dumps, and shared rows, into files of one name.

    A plan lists these files already: see `group_files`. A second call, after a kill, replaces
    the files of the first one.

    Raises:
        LakeError: The lake cannot be written.
    """
    groups = groupby(read_dumps(connection), attrgetter("partition"))
    parts = {LakePart(partition, name): list(dumps) for partition, dumps in groups}
    lake_ids = LakeIds.of(connection)
    return [
        *write_shared_rows(connection, lake, name, lake_ids, {}),
        *_write_parts(connection, lake, parts, lake_ids),
    ]


def group_files(partitions: Iterable[Partition], name: str) -> list[str]:
    """Paths of all files that `write_group` may write for dumps of these partitions."""
    return _paths([LakePart(partition, name) for partition in partitions], SHARED_TABLES, name)


def _paths(parts: Iterable[LakePart], shared_tables: Iterable[str], name: str) -> list[str]:
    facts = [part.path(table) for part in parts for table in FACTS]
    return [*facts, *(shared_path(table, name) for table in shared_tables)]


def read_dumps(connection: duckdb.DuckDBPyConnection) -> list[LakeDump]:
    """All dumps of a store or lake, partition by partition."""
    return [LakeDump(*row) for row in connection.execute(read_statement("lake_dumps")).fetchall()]


def plan_parts(
    dumps: Iterable[LakeDump], taken: Collection[str] = ()
) -> dict[LakePart, list[LakeDump]]:
    """Dumps, in order of partition, split into parts of bounded size; pure.

    Names in `taken` are not used.
    """
    parts: dict[LakePart, list[LakeDump]] = {}
    for partition, members in groupby(dumps, attrgetter("partition")):
        for some in batches(members, attrgetter("n_events"), PART_EVENTS):
            parts[LakePart(partition, name_part((dump.state for dump in some), taken))] = some
    return parts


def _write_parts(
    connection: duckdb.DuckDBPyConnection, lake: Lake, parts: Parts, lake_ids: LakeIds
) -> Iterator[AddedFile]:
    for part, dumps in parts.items():
        ids = [dump.dump_id for dump in dumps]
        for table in FACTS:
            rows = _read_batches(connection, table, ids)
            translated = (lake_ids.translate(some, TABLES[table]) for some in rows)
            yield from write_table(lake, part.path(table), translated)


def _read_batches(
    connection: duckdb.DuckDBPyConnection, table: str, ids: Sequence[int]
) -> Iterator[pa.Table]:
    """Rows of dumps in the order of `ids`, in bounded memory."""
    wanted = pa.table({"dump_id": pa.array(ids, pa.int64())})
    with register_temporarily(connection, "wanted", wanted):
        counts = dict(connection.execute(_COUNTS.format(table)).fetchall())
    for some in batches(filter(counts.get, ids), counts.__getitem__, rows_in_memory(table)):
        yield from _read_rows(connection, table, some)


def _read_rows(
    connection: duckdb.DuckDBPyConnection, table: str, ids: Sequence[int]
) -> Iterator[pa.Table]:
    """Rows of dumps in the order of `ids`; the rows of one dump in the store's order."""
    columns = ", ".join(TABLES[table].names)
    text = f"SELECT {columns} FROM {table} WHERE dump_id IN ({', '.join(map(str, ids))})"  # noqa: S608
    relation = connection.sql(text)
    if len(ids) > 1:
        yield _in_order(relation.to_arrow_table(), ids)
        return
    with relation.to_arrow_reader(rows_in_memory(table)) as batches:
        for batch in batches:
            yield pa.Table.from_batches([batch])


def _in_order(rows: pa.Table, ids: Sequence[int]) -> pa.Table:
    order = np.argsort(np.array(ids, np.int64))
    own = np.array(ids, np.int64)[order]
    rank = order[np.searchsorted(own, rows["dump_id"].to_numpy())]
    if (rank[1:] >= rank[:-1]).all():
        return rows
    return rows.take(pa.array(np.argsort(rank, kind="stable")))


def write_shared_rows(
    connection: duckdb.DuckDBPyConnection,
    lake: Lake,
    name: str,
    lake_ids: LakeIds,
    known: Mapping[str, pa.Table],
) -> list[AddedFile]:
    """Write the shared rows of a store, except those of `known` keys, into a file per table.

    Raises:
        LakeError: The lake cannot be written.
    """
    added = []
    for table, keys in SHARED_TABLES.items():
        columns = _columns(table)
        with ExitStack() as stack:
            text = f"SELECT {columns} FROM {table}"  # noqa: S608
            if table in _WITH_LAKE_IDS:
                own = lake_ids.translate(connection.sql(text).to_arrow_table(), TABLES[table])
                stack.enter_context(register_temporarily(connection, "own_rows", own))
                text = f"SELECT {columns} FROM own_rows"  # noqa: S608
            if table in known:
                stack.enter_context(register_temporarily(connection, "known_keys", known[table]))
                same = " AND ".join(f"k.{key} IS NOT DISTINCT FROM t.{key}" for key in keys)
                text = f"SELECT t.* FROM ({text}) AS t ANTI JOIN known_keys AS k ON {same}"  # noqa: S608
            added += write_select(connection, lake, shared_path(table, name), text)
    return added


def merge_shared_tables(change: LakeChange, *, least_files: int) -> None:
    """Rewrite tables that dumps share, and that have so many files, into one file each.

    Raises:
        LakeError: The lake cannot be read or written.
    """
    tables = [table for table in SHARED_TABLES if len(change.state.of(table)) >= least_files]
    _rewrite_tables(change, {table: _all_rows(table) for table in tables})


def drop_unreferenced_rows(change: LakeChange) -> None:
    """Rewrite shared tables with rows that no dump refers to.

    Raises:
        LakeError: The lake cannot be read or written.
    """
    changed = {}
    with reading_lake(change.lake, change.state) as connection:
        for table in filter(change.state.of, SHARED_TABLES):
            used = f"FROM {table} WHERE {_USED.get(table, 'true')}"
            ((count,),) = connection.execute(f"SELECT count(*) {used}").fetchall()
            if count < sum(file.rows for file in change.state.of(table)):
                changed[table] = f"SELECT {_columns(table)} {used}"
    _rewrite_tables(change, changed)


def _columns(table: str) -> str:
    return ", ".join(TABLES[table].names)


def _all_rows(table: str) -> str:
    if table in _BY_KEY:
        return f"SELECT {_columns(table)} FROM {table}"  # noqa: S608
    return f"SELECT DISTINCT {_columns(table)} FROM {unmerged_name(table)}"  # noqa: S608


def _rewrite_tables(change: LakeChange, texts: Mapping[str, str]) -> None:
    """Write each table's SELECT into one file, which replaces all files of the table."""
    name = new_id()
    change.plan(name, [shared_path(table, name) for table in texts])
    with reading_lake(change.lake, change.state) as connection:
        for table, text in texts.items():
            change.added += write_select(connection, change.lake, shared_path(table, name), text)
            change.removed += [file.path for file in change.state.of(table)]


def rewrite_parts(
    change: LakeChange, parts: Collection[LakePart], without: Collection[int] = ()
) -> None:
    """Rewrite the dumps of parts of one partition, but for some, into as few parts as hold them.

    Raises:
        LakeError: The lake cannot be read or written.
    """
    with reading_lake(change.lake, change.state, parts) as connection:
        kept = [dump for dump in read_dumps(connection) if dump.dump_id not in without]
        write_parts(change, connection, kept, LakeIds())
    change.removed += [path for paths in change.state.files_of(parts).values() for path in paths]


def remove_dumps(change: LakeChange, dumps: Iterable[DumpLocation]) -> None:
    """Rewrite the parts of dumps without these.

    Raises:
        LakeError: The lake cannot be read or written.
    """
    parts: dict[LakePart, set[int]] = defaultdict(set)
    for dump in dumps:
        parts[dump.part].add(dump.dump_id)
    for part, ids in parts.items():
        rewrite_parts(change, [part], ids)
