"""Ingest from an inbox into a lake: the driver plans and commits; executors read and decode."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import dataclass, fields
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from tracehouse.ingest.dump import Refusal
from tracehouse.warehouse.engine.migrations import store_in_memory
from tracehouse.warehouse.errors import LakeError
from tracehouse.warehouse.lake.commits import (
    AddedFile,
    Commit,
    LakeState,
    lake_errors,
    moment_of,
    new_id,
    read_state,
    write_commit,
)
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.lake.plans import LakeChange, finish_plans
from tracehouse.warehouse.lake.tables import locate_dumps
from tracehouse.warehouse.lake.writing import remove_dumps, write_group
from tracehouse.warehouse.load.loader import Loader
from tracehouse.warehouse.spark.groups import (
    DUMP_FACTS,
    DecodedGroups,
    DumpFacts,
    DumpGroup,
    IngestDecision,
    decide,
    decode_groups,
    group_entries,
    survey_piece,
)
from tracehouse.warehouse.spark.inboxes import ManifestDefaults, list_files, open_place
from tracehouse.warehouse.spark.plans import (
    IngestPlan,
    LakeDumps,
    discard_plan,
    files_of,
    read_plans,
    read_refusals,
    record_plan,
)
from tracehouse.warehouse.spark.tasks import Tasks

if TYPE_CHECKING:
    from tracehouse.ingest.watching.places import WatchedFile

MOST_FILES = 20_000  # in one commit
_PIECES = 4  # tasks of a survey for each core
_PIECE_FILES = 500  # files of one task
_ATTEMPTS = 20  # while others write the same dumps
_PAUSE_SECONDS = 0.5  # between two attempts, at most


@dataclass(frozen=True)
class LakeIngest:
    """The result of an ingest into a lake; results of parts can be added.

    Attributes:
        n_dumps: Dumps that were added to the lake.
        n_events: Profile events in these dumps.
        n_known: Dumps that the lake already had or had refused.
        n_attached: Known dumps that got an ETRecord or debug buffer.
        n_changed: Dumps that changed while they were read, left to the next ingest.
        refused: Refusals.
    """

    n_dumps: int = 0
    n_events: int = 0
    n_known: int = 0
    n_attached: int = 0
    n_changed: int = 0
    refused: tuple[Refusal, ...] = ()

    def __add__(self, other: LakeIngest) -> LakeIngest:
        names = (field.name for field in fields(self))
        return LakeIngest(*(getattr(self, name) + getattr(other, name) for name in names))


class LakeIngester:
    """Ingests dumps of an inbox into a lake, each once, even after ingests that were killed.

    Attributes:
        inbox: Path or URI of the inbox, the same on every machine.
    """

    def __init__(
        self, tasks: Tasks, inbox: str, lake: str, stated: ManifestDefaults | None = None
    ) -> None:
        """Set the inbox and the lake.

        Args:
            tasks: The machines that read and decode.
            inbox: Path or URI of the dumps; a path must mean the same on every machine.
            lake: Path or URI of the lake, the same on every machine; created if it is missing.
            stated: Manifest fields for all dumps.

        Raises:
            SourceError: The inbox cannot be listed.
            LakeError: The lake's address cannot be used.
        """
        self._tasks = tasks
        self._place = open_place(inbox)
        self.inbox = inbox if "://" in inbox else self._place.root
        self._lake = Lake(lake)
        self._address = lake if "://" in lake else self._lake.root
        self._stated = stated or ManifestDefaults()
        self._known = LakeDumps(self._lake)
        self._state: LakeState | None = None

    def ingest_all(self) -> LakeIngest:
        """Ingest all dumps of the inbox.

        Raises:
            SourceError: The inbox cannot be listed.
            LakeError: The lake cannot be read or written.
            SparkError: A task failed repeatedly.
        """
        return self.ingest(list_files(self._place))

    def ingest(self, files: Sequence[WatchedFile]) -> LakeIngest:
        """Ingest the dumps in files of the inbox, after plans of killed ingests.

        Raises:
            SourceError: The inbox cannot be listed.
            LakeError: The lake is damaged, or cannot be read or written.
            SparkError: A task failed repeatedly.
        """
        with lake_errors(self._lake):
            return self._ingest(files)

    def _ingest(self, files: Sequence[WatchedFile]) -> LakeIngest:
        done = self._resume()
        for first in range(0, len(files), MOST_FILES):
            surveyed = self._survey(files[first : first + MOST_FILES])
            done += self._ingest_new(surveyed)
            done += self._attach_late(surveyed)
        return done

    def _ingest_new(self, surveyed: Sequence[DumpFacts]) -> LakeIngest:
        done = LakeIngest()
        for _ in range(_ATTEMPTS):
            state = self._read_state()
            decision = self._decide(surveyed, state)
            done_before = done + LakeIngest(n_known=decision.n_known)
            if not (decision.entries or decision.refused):
                return done_before
            plan = self._plan(decision, state)
            record_plan(self._lake, plan)
            if not self._is_contested(plan, state):
                plan = plan._replace(is_checked=True)
                record_plan(self._lake, plan)
                return done_before + self._execute(plan)
            # Another ingest may be about to commit files of these names.
            finish_plans(self._lake, [plan.id])
            time.sleep(random.uniform(0, _PAUSE_SECONDS))  # noqa: S311 - to separate two ingests
            done += self._resume()
        raise LakeError(
            self._lake.name, "other processes repeatedly ingest the same dumps: wait for them"
        )

    def _attach_late(self, surveyed: Sequence[DumpFacts]) -> LakeIngest:
        """Write dumps again whose companions came later than they did, in one commit.

        If it is killed, or another process rewrites the same parts, the lake stays as it is, and
        the next ingest attaches them.

        Raises:
            LakeError: The lake cannot be read or written.
        """
        state = self._read_state()
        late = self._decide(surveyed, state).late
        if not late:
            return LakeIngest()
        id_, change = new_id(), LakeChange(self._lake, state, "spark")
        # The same dumps may have been written again before, with a companion that was refused.
        groups = self._group(late, state.used_names)
        change.plan(id_, [file for group in groups for file in files_of(group)])
        decoded = self._decode(groups, moment_of(id_))
        whole = [group for group in groups if group.name not in decoded.changed]
        hashes = {entry.sha256 for group in whole for entry in group.entries}
        held = (dump for dump in locate_dumps(self._lake, state) if dump.sha256 in hashes)
        change.added += decoded.added
        remove_dumps(change, held)
        change.commit()
        return LakeIngest(n_attached=decoded.n_dumps, refused=decoded.refused)

    def _decode(self, groups: Sequence[DumpGroup], at: datetime) -> DecodedGroups:
        return decode_groups(self._tasks, groups, inbox=self.inbox, lake=self._address, at=at)

    def _read_state(self) -> LakeState:
        self._state = read_state(self._lake, self._state)
        return self._state

    def _survey(self, files: Sequence[WatchedFile]) -> list[DumpFacts]:
        wanted = self._tasks.parallelism * _PIECES
        size = max(min(-(-len(files) // wanted), _PIECE_FILES), 1)
        paths = [file.path for file in files]
        pieces = [
            json.dumps([first, paths[first : first + size]]) for first in range(0, len(paths), size)
        ]
        work = partial(survey_piece, inbox=self.inbox, stated=self._stated)
        rows = self._tasks.run(pieces, work, DUMP_FACTS).sort_by(
            [("number", "ascending"), ("path", "ascending"), ("member", "ascending")]
        )
        return [DumpFacts(**row) for row in rows.drop_columns("number").to_pylist()]

    def _decide(self, surveyed: Sequence[DumpFacts], state: LakeState) -> IngestDecision:
        hashes = (dump.sha256 for dump in surveyed if dump.sha256)
        known = self._known.read_dumps(state, hashes)
        names = ((dump.source, dump.etrecord, dump.debug_buffer) for dump in surveyed)
        sources = (name for some in names for name in some if name)
        return decide(surveyed, known, read_refusals(self._lake, state, sources))

    def _plan(self, decision: IngestDecision, state: LakeState) -> IngestPlan:
        groups = tuple(self._group(decision.entries, state.removed_names))
        return IngestPlan(new_id(), self._place.name, groups, tuple(decision.refused))

    def _group(self, entries: Sequence[DumpFacts], taken: Collection[str]) -> list[DumpGroup]:
        return group_entries(entries, parallelism=self._tasks.parallelism, taken=taken)

    def _is_contested(self, plan: IngestPlan, state: LakeState) -> bool:
        """Whether another ingest has the same dumps, or the lake has changed since `state`.

        A plan that is too old for others to see is contested, too.
        """
        plans = {other.id: other.hashes for other in read_plans(self._lake)}
        own = plans.pop(plan.id, None)
        if own is None or any(not own.isdisjoint(other) for other in plans.values()):
            return True
        return self._read_state().commits.keys() != state.commits.keys()

    def _resume(self) -> LakeIngest:
        """Complete plans for this inbox that killed ingests have not committed."""
        done = LakeIngest()
        for plan in read_plans(self._lake):
            if plan.inbox != self._place.name or not plan.is_checked:
                continue
            state = self._read_state()
            if self._is_done(plan, state):
                discard_plan(self._lake, plan, state)
            else:
                record_plan(self._lake, plan)  # as this process's own
                done += self._execute(plan)
        return done

    def _is_done(self, plan: IngestPlan, state: LakeState) -> bool:
        """Whether the lake has a dump or refusal of the plan, and therefore all of them."""
        if plan.id in state.commits or self._known.read_dumps(state, plan.hashes):
            return True
        recorded = read_refusals(self._lake, state, (one.source for one in plan.refused))
        return not recorded.isdisjoint(plan.refused)

    def _execute(self, plan: IngestPlan) -> LakeIngest:
        """Decode the groups of a plan and commit them, unless another process has."""
        at = moment_of(plan.id)
        decoded = self._decode(plan.groups, at)
        added = [*decoded.added, *self._record(plan)]
        left = [group for group in plan.groups if group.name in decoded.changed]
        if (added or left) and plan.id not in self._read_state().commits:
            # Even an empty commit shows other processes that the plan is done.
            write_commit(self._lake, Commit(plan.id, added, (), "spark"))
        unfinished = {file for group in left for file in files_of(group)}
        self._lake.delete(unfinished - self._read_state().files.keys())
        finish_plans(self._lake, [plan.id])
        return LakeIngest(
            n_dumps=decoded.n_dumps,
            n_events=decoded.n_events,
            n_changed=sum(len(group.entries) for group in left),
            refused=(*_timed(plan), *decoded.refused),
        )

    def _record(self, plan: IngestPlan) -> list[AddedFile]:
        """Write the refusals of a plan."""
        if not plan.refused:
            return []
        with closing(store_in_memory()) as connection:
            Loader(connection).record(_timed(plan))
            return write_group(connection, self._lake, plan.id)


def _timed(plan: IngestPlan) -> list[Refusal]:
    at = moment_of(plan.id)
    return [one._replace(refused_at=at) for one in plan.refused]
