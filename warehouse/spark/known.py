"""What a lake knows of dumps that are about to be taken."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from warehouse.errors import LakeError
from warehouse.lake.commits import LakeState
from warehouse.lake.place import Lake
from warehouse.lake.schemas import TABLES
from warehouse.spark.groups import KnownRefusal


def read_manifests(lake: Lake, state: LakeState, hashes: Iterable[str]) -> dict[str, str]:
    """Manifests of those dumps that the lake has, by SHA-256.

    Raises:
        LakeError: It cannot be read.
    """
    rows = _read(lake, state, "dumps", ["sha256", "manifest"], hashes)
    return dict(zip(rows["sha256"].to_pylist(), rows["manifest"].to_pylist(), strict=True))


def read_refusals(lake: Lake, state: LakeState, sources: Iterable[str]) -> set[KnownRefusal]:
    """What is on record about files of these names.

    Raises:
        LakeError: The lake cannot be read.
    """
    rows = _read(lake, state, "ingest_errors", list(KnownRefusal._fields), sources)
    return {KnownRefusal(**row) for row in rows.to_pylist()}


def _read(
    lake: Lake, state: LakeState, table: str, columns: list[str], wanted: Iterable[str]
) -> pa.Table:
    """Rows of which the first column is among the values wanted.

    Raises:
        LakeError: They cannot be read.
    """
    paths = [lake.absolute(file.path) for file in state.of(table)]
    values = pa.array(sorted(set(wanted)), pa.string())
    schema = TABLES[table]
    if not paths or not len(values):
        return pa.schema([schema.field(name) for name in columns]).empty_table()
    try:
        files = ds.dataset(paths, schema, format="parquet", filesystem=lake.files)
        return files.to_table(columns, filter=pc.field(columns[0]).isin(values))
    except (OSError, pa.ArrowException) as error:
        raise LakeError(lake.name, str(error).partition("\n")[0]) from error
