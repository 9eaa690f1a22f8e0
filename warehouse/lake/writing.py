"""Dumps of a store written into a lake, by whoever has them in a store, be it one in memory."""

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
from warehouse.lake.ids import Numbers, dump_number
from warehouse.lake.layout import SUFFIX, LakePart, Partition, name_part
from warehouse.lake.names import write_names
from warehouse.lake.place import Lake
from warehouse.lake.plans import finish_plans, write_plan
from warehouse.lake.schemas import FACTS, NAMES, TABLES
from warehouse.lake.tables import writing_table

PART_EVENTS = 25_000_000  # which take about 125 MB
_BATCH_ROWS = {"events": 1 << 20}
_OTHER_BATCH_ROWS = 1 << 17
_COUNTS = """
SELECT dump_id, count(*) FROM {} WHERE dump_id IN (SELECT dump_id FROM wanted) GROUP BY dump_id
"""


class Written(NamedTuple):
    """Files that are in a lake, but not committed.

    Attributes:
        id: That of the plan they are on record in.
        added: The files.
    """

    id: str
    added: Sequence[AddedFile]


class LakeDump(NamedTuple):
    """What a lake is told of a dump before its rows: a row of lake_dumps.sql."""

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
        """Whether another state of the same dump is not this one.

        An ETRecord or debug buffer that only the other came with stays.
        """
        return (
            self.manifest_sha256 != other.manifest_sha256
            or self.etrecord_id not in {None, other.etrecord_id}
            or self.debug_buffer_sha256 not in {None, other.debug_buffer_sha256}
        )


Parts = Mapping[LakePart, Sequence[LakeDump]]


def write_dumps(
    connection: duckdb.DuckDBPyConnection,
    lake: Lake,
    dump_ids: Collection[int],
    *,
    known: Mapping[str, pa.Table] | None = None,
) -> Written:
    """Write the rows of dumps, and those that dumps share; a lake's reader sees neither yet.

    Args:
        connection: What has them.
        lake: Where to.
        dump_ids: Which, as the connection numbers them.
        known: Keys of the rows that dumps share which the lake has already, see `NAMES`; by
            default all rows there are are written.

    Raises:
        LakeError: The lake cannot be written.
    """
    wanted = set(dump_ids)
    dumps = [dump for dump in read_dumps(connection) if dump.dump_id in wanted]
    return write_parts(connection, lake, plan_parts(dumps), store_numbers(connection), known or {})


def write_parts(
    connection: duckdb.DuckDBPyConnection,
    lake: Lake,
    parts: Parts,
    numbers: Numbers,
    known: Mapping[str, pa.Table] | None = None,
) -> Written:
    """Write parts; and rows that dumps share, but for `known` ones, unless that is None.

    Raises:
        LakeError: The lake cannot be written.
    """
    id_ = new_id()
    tables = [] if known is None else [*NAMES]
    lake.begin()
    write_plan(lake, id_, _paths(parts, tables, id_))
    return Written(id_, _write_files(connection, lake, parts, numbers, name=id_, known=known))


def write_group(
    connection: duckdb.DuckDBPyConnection,
    lake: Lake,
    name: str,
) -> list[AddedFile]:
    """Write the rows of all dumps, and those that dumps share, into files of one name.

    The files are on record in a plan already, see `group_files`. Written again, as after a kill,
    they replace those of the first time.

    Raises:
        LakeError: The lake cannot be written.
    """
    dumps = groupby(read_dumps(connection), lambda dump: Partition(dump.date, dump.model))
    parts = {LakePart(partition, name): list(members) for partition, members in dumps}
    numbers = store_numbers(connection)
    return _write_files(connection, lake, parts, numbers, name=name, known={})


def group_files(partitions: Iterable[Partition], name: str) -> list[str]:
    """Paths of all files that `write_group` may write for dumps of these partitions."""
    return _paths([LakePart(partition, name) for partition in partitions], NAMES, name)


def _paths(parts: Iterable[LakePart], tables: Iterable[str], name: str) -> list[str]:
    facts = [part.path(table) for part in parts for table in FACTS]
    return [*facts, *(f"{table}/{name}{SUFFIX}" for table in tables)]


def _write_files(
    connection: duckdb.DuckDBPyConnection,
    lake: Lake,
    parts: Parts,
    numbers: Numbers,
    *,
    name: str,
    known: Mapping[str, pa.Table] | None,
) -> list[AddedFile]:
    """Write the files of what dumps share, unless `known` is None, and then those of parts."""
    added = [] if known is None else write_names(connection, lake, name, numbers, known)
    for part, dumps in parts.items():
        added += _write_part(connection, lake, part, dumps, numbers)
    return added


def commit_written(
    lake: Lake, written: Sequence[Written], *, by: str, removed: Collection[str] = ()
) -> Commit:
    """Let readers see what was written, in place of the files removed, all at once.

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


def store_numbers(connection: duckdb.DuckDBPyConnection) -> Numbers:
    """The ids that a lake has for those of a store."""
    numbers = Numbers()
    numbers.read_things(connection)
    rows = connection.execute("SELECT dump_id, sha256 FROM dumps").fetchall()
    numbers.set("dump_id", {id_: dump_number(sha256) for id_, sha256 in rows})
    return numbers


def plan_parts(
    dumps: Iterable[LakeDump], taken: Collection[str] = ()
) -> dict[LakePart, list[LakeDump]]:
    """Dumps, which come partition by partition, cut into parts of bounded size; pure.

    `taken` are names that are not to be used again.
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
    numbers: Numbers,
) -> list[AddedFile]:
    """Write the files of a part, the one that names its dumps last."""
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
                    file.write(numbers.widened(rows, TABLES[table]))
        added.append(file.added._replace(dumps=len(dumps) if table == "dumps" else None))
    return added


def _read_rows(
    connection: duckdb.DuckDBPyConnection, table: str, ids: Sequence[int]
) -> Iterator[pa.Table]:
    """Rows of dumps, in the order of these; those of one dump in the store's."""
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
