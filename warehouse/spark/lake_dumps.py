"""Known dumps and refusals of a lake."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tracehouse.ingest.dump import Refusal
from tracehouse.warehouse.errors import LakeError
from tracehouse.warehouse.lake.commits import LakeState
from tracehouse.warehouse.lake.ids import dump_number
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.lake.tables import open_files
from tracehouse.warehouse.spark.surveys import KnownDump


class LakeDumps:
    """The dumps of a lake; the ids in each file are read once."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._ids: dict[str, NDArray[np.int64]] = {}  # in order, by file

    def read_dumps(self, state: LakeState, hashes: Iterable[str]) -> dict[str, KnownDump]:
        """The dumps that the lake has, by SHA-256."""
        wanted = {dump_number(sha256): sha256 for sha256 in hashes}
        self._read_new(state)
        numbers = np.fromiter(wanted, np.int64, len(wanted))
        paths = [path for path, ids in self._ids.items() if np.isin(numbers, ids).any()]
        columns = ["sha256", *KnownDump._fields]
        rows = _read(self._lake, paths, "dumps", columns, wanted.values())
        found = {}
        for row in rows.to_pylist():
            sha256, at = row.pop("sha256"), row["ingested_at"].isoformat()
            found[sha256] = KnownDump(**row | {"ingested_at": at})
        return found

    def _read_new(self, state: LakeState) -> None:
        paths = [file.path for file in state.of("dumps")]
        self._ids = {path: self._ids[path] for path in paths if path in self._ids}
        for path in paths:
            if path not in self._ids:
                rows = _read(self._lake, [path], "dumps", ["dump_id"])
                self._ids[path] = np.sort(rows["dump_id"].to_numpy())


def read_refusals(lake: Lake, state: LakeState, sources: Iterable[str]) -> set[Refusal]:
    """Recorded refusals of files of these names, without offsets and times."""
    paths = [file.path for file in state.of("ingest_errors")]
    columns = ["source", "sha256", "reason", "detail"]
    rows = _read(lake, paths, "ingest_errors", columns, set(sources))
    return {Refusal(**row, byte_offset=None) for row in rows.to_pylist()}


def _read(
    lake: Lake,
    paths: list[str],
    table: str,
    columns: list[str],
    wanted: Iterable[str] | None = None,
) -> pa.Table:
    chosen = None
    if wanted is not None:
        chosen = pc.field(columns[0]).isin(pa.array(sorted(wanted), pa.string()))
    try:
        return open_files(lake, table, paths).to_table(columns, filter=chosen)
    except (OSError, pa.ArrowException) as error:
        raise LakeError(lake.name, str(error).partition("\n")[0]) from error
