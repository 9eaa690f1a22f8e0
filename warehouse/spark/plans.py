"""What an ingest is about to do: on record before its first file, until its commit.

Whoever comes after one that was broken off does the same again: the same groups, whose files have
the same names, so that no reader meets a dump twice. Not before it is checked that nobody else
takes these dumps: until then who recorded a plan may give it up, and nothing comes of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from warehouse.lake.commits import LakeState
from warehouse.lake.place import Lake
from warehouse.lake.plans import finish_plans, read_works, write_plan
from warehouse.lake.writing import group_files
from warehouse.spark.groups import DumpGroup, KnownRefusal

_PATIENCE = timedelta(minutes=10)  # with who checks a plan, which takes seconds


class IngestPlan(NamedTuple):
    """Groups of dumps to decode, and refusals to put on record, in one commit.

    Attributes:
        id: That of the plan and of its commit.
        inbox: Name of the place that the dumps are in.
        groups: What is to be decoded.
        refused: What is to be put on record.
        is_checked: Whether nobody else takes the same dumps: it will be carried out.
    """

    id: str
    inbox: str
    groups: tuple[DumpGroup, ...]
    refused: tuple[KnownRefusal, ...]
    is_checked: bool = False

    @property
    def hashes(self) -> set[str]:
        """SHA-256s of the dumps to decode."""
        return {entry.sha256 for group in self.groups for entry in group.entries}

    def files(self) -> list[str]:
        """Every file that may come of it."""
        files = [file for group in self.groups for file in files_of(group)]
        return [*files, *group_files((), self.id)]


def files_of(group: DumpGroup) -> list[str]:
    """Every file that may come of a group."""
    return group_files(sorted(group.partitions), group.name)


def record_plan(lake: Lake, plan: IngestPlan) -> None:
    """Put a plan on record as this process's.

    Raises:
        LakeError: The lake cannot be written.
    """
    work = plan._asdict()
    del work["id"]
    lake.begin()
    write_plan(lake, plan.id, plan.files(), work)


def read_plans(lake: Lake) -> Iterator[IngestPlan]:
    """The plans of ingests that are under way, or were broken off; the oldest first.

    Those that were broken off unchecked are none: nothing came of them, and nothing will.

    Raises:
        LakeError: The lake cannot be read.
    """
    for id_, (work, at, is_alive) in sorted(read_works(lake).items()):
        groups = tuple(DumpGroup.of(*group) for group in work["groups"])
        refused = tuple(KnownRefusal(*one) for one in work["refused"])
        is_checked = work.get("is_checked", True)  # as older ones say nothing of it
        if is_checked or (is_alive and datetime.now(UTC) - at < _PATIENCE):
            yield IngestPlan(id_, work["inbox"], groups, refused, is_checked)


def discard_plan(lake: Lake, plan: IngestPlan, state: LakeState) -> None:
    """Forget a plan, and delete what came of it unless it is in the lake.

    Raises:
        LakeError: The lake cannot be written.
    """
    lake.delete(set(plan.files()) - state.files.keys())
    finish_plans(lake, [plan.id])
