"""Lakes: farms written into them, and their rows read back without the product's readers."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.small_farm import small_farm
from tracehouse.warehouse.engine.connection import reading
from tracehouse.warehouse.lake.commits import AddedFile, read_state
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.lake.plans import LakeChange
from tracehouse.warehouse.lake.tables import LakeIds, dump_number
from tracehouse.warehouse.lake.writing import read_dumps, write_parts

_BUILDS = """
UPDATE dumps SET sha256 = sha256(sha256), manifest = json_merge_patch(manifest, json_object(
    'build', json_object('id', b.name, 'ordinal', b.ordinal)
))
FROM builds AS b WHERE b.build_id = dumps.build_id
"""


def real_looking_farm(
    make: Callable[[], duckdb.DuckDBPyConnection] = small_farm,
) -> duckdb.DuckDBPyConnection:
    """A farm with distinct hashes, and manifests that state the builds."""
    farm = make()
    farm.execute(_BUILDS)
    farm.execute("UPDATE etrecords SET sha256 = sha256(sha256)")
    return farm


def rows_only_farm() -> duckdb.DuckDBPyConnection:
    """That farm with few runs of each dump, for tests without queries."""
    return real_looking_farm(lambda: small_farm(runs=2))


def dump_ids(connection: duckdb.DuckDBPyConnection) -> list[int]:
    """Ids of all dumps of a store."""
    return [row[0] for row in connection.execute("SELECT dump_id FROM dumps").fetchall()]


def write_dumps(
    connection: duckdb.DuckDBPyConnection, lake: Lake, wanted: Collection[int]
) -> LakeChange:
    """Write dumps of a store, and all rows that they share, without committing them."""
    dumps = [dump for dump in read_dumps(connection) if dump.dump_id in wanted]
    lake.begin()
    change = LakeChange(lake, read_state(lake), "export")
    write_parts(change, connection, dumps, LakeIds.of(connection), {})
    return change


def fill(
    place: Path, connection: duckdb.DuckDBPyConnection, dumps: Collection[int] | None = None
) -> None:
    """Write dumps of a store, by default all, into a lake."""
    lake = Lake(place)
    with reading(connection):
        change = write_dumps(connection, lake, dump_ids(connection) if dumps is None else dumps)
    change.commit()


def files_of(place: Path, table: str) -> list[AddedFile]:
    """The files that a lake has of a table."""
    return read_state(Lake(place)).of(table)


def rows_of(place: Path, table: str) -> list[dict[str, object]]:
    """Rows of a table, in the order of its files."""
    tables = [
        pq.read_table(place / file.path, partitioning=None) for file in files_of(place, table)
    ]
    return pa.concat_tables(tables).to_pylist() if tables else []


def shared_numbers(connection: duckdb.DuckDBPyConnection) -> dict[int, int]:
    """The numbers that a lake gives to the dumps of a store."""
    rows = connection.execute("SELECT dump_id, sha256 FROM dumps").fetchall()
    return {dump_id: dump_number(sha256) for dump_id, sha256 in rows}
