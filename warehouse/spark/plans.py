"""Plans of ingests, recorded before the first file is written and deleted after the commit.

The ingest after a killed one completes its plan: the same groups into files of the same names, so
that no reader sees a dump twice. This applies once a plan is checked, that is, no other ingest has
the same dumps; until then, its owner has written nothing and may discard the plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from tracehouse.ingest.dump import Refusal
from tracehouse.warehouse.lake.commits import LakeState
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.lake.plans import finish_plans, list_plans, write_plan
from tracehouse.warehouse.lake.writing import group_files
from tracehouse.warehouse.spark.groups import DumpGroup

_PATIENCE = timedelta(minutes=10)  # for the check of a plan, which takes seconds


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
