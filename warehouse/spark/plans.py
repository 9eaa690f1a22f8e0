"""Plans of ingests, recorded before the first file is written and deleted after the commit.

The ingest after a killed one completes its plan: the same groups into files of the same names, so
that no reader sees a dump twice. This applies once a plan is checked, that is, no other ingest has
the same dumps; until then, its owner has written nothing and may discard the plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tracehouse.ingest.dump import Refusal
from tracehouse.warehouse.errors import LakeError
from tracehouse.warehouse.lake.commits import LakeState
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.lake.plans import finish_plans, list_plans, write_plan
from tracehouse.warehouse.lake.tables import dump_number, open_files
from tracehouse.warehouse.lake.writing import group_files
from tracehouse.warehouse.spark.groups import DumpGroup, KnownDump

_PATIENCE = timedelta(minutes=10)  # for the check of a plan, which takes seconds


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


class IngestPlan(NamedTuple):
    """Groups of dumps to decode and refusals to record, in one commit.

    Attributes:
        id: Id of the plan and of its commit.
        inbox: Name of the place of the dumps.
        groups: Dumps to decode.
        refused: Refusals to record.
        is_checked: Whether no other ingest has the same dumps, so the plan will be executed.
    """

    id: str
    inbox: str
    groups: tuple[DumpGroup, ...]
    refused: tuple[Refusal, ...]
    is_checked: bool = False

    @property
    def hashes(self) -> set[str]:
        """SHA-256s of the dumps to decode."""
        return {entry.sha256 for group in self.groups for entry in group.entries}

    def files(self) -> list[str]:
        """Every file that the plan may write."""
        files = [file for group in self.groups for file in files_of(group)]
        return [*files, *group_files((), self.id)]


def files_of(group: DumpGroup) -> list[str]:
    """Every file that a group may be written to."""
    return group_files(sorted(group.partitions), group.name)


def record_plan(lake: Lake, plan: IngestPlan) -> None:
    """Record a plan as this process's own.

    Raises:
        LakeError: The lake cannot be written.
    """
    work = plan._asdict() | {"refused": [one[:5] for one in plan.refused]}
    del work["id"]
    lake.begin()
    write_plan(lake, plan.id, plan.files(), work)


def read_plans(lake: Lake) -> Iterator[IngestPlan]:
    """Plans of running and killed ingests, oldest first.

    Unchecked plans of killed ingests are left out: they have written nothing.

    Raises:
        LakeError: The lake cannot be read.
    """
    for id_, _, work, at, is_alive in list_plans(lake):
        is_recent = is_alive and datetime.now(UTC) - at < _PATIENCE
        if work and (work["is_checked"] or is_recent):
            groups = tuple(DumpGroup.of(*group) for group in work["groups"])
            refused = tuple(Refusal(*one) for one in work["refused"])
            yield IngestPlan(id_, work["inbox"], groups, refused, work["is_checked"])


def discard_plan(lake: Lake, plan: IngestPlan, state: LakeState) -> None:
    """Delete a plan and its files that are not in the lake.

    Raises:
        LakeError: The lake cannot be written.
    """
    lake.delete(set(plan.files()) - state.files.keys())
    finish_plans(lake, [plan.id])
