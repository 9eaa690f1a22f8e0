"""Dumps of a store, or of a store in memory, written into a lake."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

import duckdb
import numpy as np
import pyarrow as pa

from ingest.batching import batches
from warehouse.catalogue.sql_files import read_statement
from warehouse.engine.connection import registered
from warehouse.lake.commits import AddedFile, Commit, new_id, write_commit
from warehouse.lake.ids import LakeIds, dump_number
from warehouse.lake.layout import SUFFIX, LakePart, Partition, name_part
from warehouse.lake.place import Lake
from warehouse.lake.plans import finish_plans, write_plan
from warehouse.lake.schemas import FACTS, SHARED_TABLES, TABLES
from warehouse.lake.shared_rows import write_shared_rows
from warehouse.lake.tables import writing_table

PART_EVENTS = 25_000_000  # about 125 MB
_BATCH_ROWS = {"events": 1 << 20}
_OTHER_BATCH_ROWS = 1 << 17
_COUNTS = """
SELECT dump_id, count(*) FROM {} WHERE dump_id IN (SELECT dump_id FROM wanted) GROUP BY dump_id
"""


class WrittenFiles(NamedTuple):
    """Files in a lake that are not committed yet; `id` is the plan that lists them."""

    id: str
    added: Sequence[AddedFile]


class LakeDump(NamedTuple):
    """A dump to write into a lake: a row of lake_dumps.sql."""

    dump_id: int
    sha256: str
    date: str
    model: str
    device_id: int
    build_id: int
    n_events: int
    state: str
    manifest_sha256: str = ""
    etrecord_id: int | None = None
    debug_buffer_sha256: str | None = None

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
    connection: duckdb.DuckDBPyConnection,
    lake: Lake,
    parts: Parts,
    lake_ids: LakeIds,
    known: Mapping[str, pa.Table] | None = None,
) -> WrittenFiles:
    """Write parts, and shared rows except those of `known` keys; no shared rows if None.

    Raises:
        LakeError: The lake cannot be written.
    """
    id_ = new_id()
    tables = [] if known is None else [*SHARED_TABLES]
    lake.begin()
    write_plan(lake, id_, _paths(parts, tables, id_))
    return WrittenFiles(id_, _write_files(connection, lake, parts, lake_ids, name=id_, known=known))


def write_group(connection: duckdb.DuckDBPyConnection, lake: Lake, name: str) -> list[AddedFile]:
    """Write the rows of all dumps, and shared rows, into files of one name.

    A plan lists these files already: see `group_files`. A second call, after a kill, replaces
    the files of the first one.

    Raises:
        LakeError: The lake cannot be written.
    """
    dumps = groupby(read_dumps(connection), lambda dump: Partition(dump.date, dump.model))
    parts = {LakePart(partition, name): list(members) for partition, members in dumps}
    lake_ids = read_lake_ids(connection)
    return _write_files(connection, lake, parts, lake_ids, name=name, known={})


def group_files(partitions: Iterable[Partition], name: str) -> list[str]:
    """Paths of all files that `write_group` may write for dumps of these partitions."""
    return _paths([LakePart(partition, name) for partition in partitions], SHARED_TABLES, name)


def _paths(parts: Iterable[LakePart], tables: Iterable[str], name: str) -> list[str]:
    facts = [part.path(table) for part in parts for table in FACTS]
    return [*facts, *(f"{table}/{name}{SUFFIX}" for table in tables)]


def _write_files(
    connection: duckdb.DuckDBPyConnection,
    lake: Lake,
    parts: Parts,
    lake_ids: LakeIds,
    *,
    name: str,
    known: Mapping[str, pa.Table] | None,
) -> list[AddedFile]:
    """Write the files of shared rows, unless `known` is None, then the files of parts."""
    added = [] if known is None else write_shared_rows(connection, lake, name, lake_ids, known)
    for part, dumps in parts.items():
        added += _write_part(connection, lake, part, dumps, lake_ids)
    return added


def commit_written(
    lake: Lake, written: Sequence[WrittenFiles], *, by: str, removed: Collection[str] = ()
) -> Commit:
    """Commit written files in place of removed ones, atomically.

    Raises:
        LakeError: The lake cannot be written.
    """
    added = [file for one in written for file in one.added]
    commit = Commit(new_id(), added, sorted(removed), by)
    if added or removed:
        write_commit(lake, commit)
    finish_plans(lake, [one.id for one in written])
    return commit


def read_dumps(connection: duckdb.DuckDBPyConnection) -> list[LakeDump]:
    """All dumps of a store or lake, partition by partition."""
    return [LakeDump(*row) for row in connection.execute(read_statement("lake_dumps")).fetchall()]


def read_lake_ids(connection: duckdb.DuckDBPyConnection) -> LakeIds:
    """The ids of a lake by the ids of a store."""
    lake_ids = LakeIds()
    lake_ids.read_dimensions(connection)
    rows = connection.execute("SELECT dump_id, sha256 FROM dumps").fetchall()
    lake_ids.set("dump_id", {id_: dump_number(sha256) for id_, sha256 in rows})
    return lake_ids


def plan_parts(
    dumps: Iterable[LakeDump], taken: Collection[str] = ()
) -> dict[LakePart, list[LakeDump]]:
    """Dumps, in order of partition, split into parts of bounded size; pure.

    Names in `taken` are not used.
    """
    parts: dict[LakePart, list[LakeDump]] = {}
    for partition, members in groupby(dumps, lambda dump: Partition(dump.date, dump.model)):
        for some in batches(members, attrgetter("n_events"), PART_EVENTS):
            parts[LakePart(partition, name_part((dump.state for dump in some), taken))] = some
    return parts


def _write_part(
    connection: duckdb.DuckDBPyConnection,
    lake: Lake,
    part: LakePart,
    dumps: Sequence[LakeDump],
    lake_ids: LakeIds,
) -> list[AddedFile]:
    added = []
    ids = [dump.dump_id for dump in dumps]
    wanted = pa.table({"dump_id": pa.array(ids, pa.int64())})
    for table in FACTS:
        with registered(connection, "wanted", wanted):
            counts = dict(connection.execute(_COUNTS.format(table)).fetchall())
        if not counts:
            continue
        with writing_table(lake, part.path(table)) as file:
            most = _BATCH_ROWS.get(table, _OTHER_BATCH_ROWS)
            for some in batches(filter(counts.get, ids), counts.__getitem__, most):
                for rows in _read_rows(connection, table, some):
                    file.write(lake_ids.translate(rows, TABLES[table]))
        added.append(file.added._replace(dumps=len(dumps) if table == "dumps" else None))
    return added


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
    with relation.to_arrow_reader(_BATCH_ROWS.get(table, _OTHER_BATCH_ROWS)) as batches:
        for batch in batches:
            yield pa.Table.from_batches([batch])


def _in_order(rows: pa.Table, ids: Sequence[int]) -> pa.Table:
    order = np.argsort(np.array(ids, np.int64))
    own = np.array(ids, np.int64)[order]
    rank = order[np.searchsorted(own, rows["dump_id"].to_numpy())]
    if (rank[1:] >= rank[:-1]).all():
        return rows
    return rows.take(pa.array(np.argsort(rank, kind="stable")))
