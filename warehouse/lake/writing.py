"""Dumps of a store, or of a store in memory, written into a lake."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

import duckdb
import numpy as np
import pyarrow as pa

from tracehouse.ingest.batching import batches
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.engine.connection import registered
from tracehouse.warehouse.lake.changes import LakeChange
from tracehouse.warehouse.lake.commits import AddedFile, new_id
from tracehouse.warehouse.lake.ids import LakeIds
from tracehouse.warehouse.lake.layout import LakePart, Partition, name_part, shared_path
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.lake.schemas import FACTS, SHARED_TABLES, TABLES
from tracehouse.warehouse.lake.shared_tables import write_shared_rows
from tracehouse.warehouse.lake.tables import rows_in_memory, write_table

PART_EVENTS = 25_000_000  # about 125 MB
_COUNTS = """
SELECT dump_id, count(*) FROM {} WHERE dump_id IN (SELECT dump_id FROM wanted) GROUP BY dump_id
"""


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
    with registered(connection, "wanted", wanted):
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
