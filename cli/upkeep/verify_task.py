"""The task that verifies a store."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar

from cli.upkeep.store_task import UPKEEP, TaskStore, with_notes
from warehouse.errors import QueryError

if TYPE_CHECKING:
    import pyarrow as pa

    from warehouse.upkeep.verification import Verification


@dataclass(frozen=True, kw_only=True)
class Verify:
    """Compare the rows of dumps with their digests, and with the dumps decoded again."""

    name: ClassVar = "verify"
    scopes: ClassVar[tuple[str, ...]] = (UPKEEP,)
    share: float = 0.01
    since: str | None = None

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise QueryError(f"share: found {self.share:g}, wanted more than 0 and at most 1")
        self._since()

    def run(self, store: TaskStore) -> pa.Table:
        """The damages; none if all rows are what they were."""
        from warehouse.upkeep.verification import Sample, verify_store

        start = random.random() if self.share < 1 else 0.0  # noqa: S311 - no secret
        sample = Sample(self.share, start, self._since())
        writing = store.warehouse.writing
        done = verify_store(writing, store.path, sample=sample, progress=store.progress)
        return with_notes(done.table(), [*describe(done)])

    def _since(self) -> datetime | None:
        """The time of `since`.

        Raises:
            QueryError: It is not a date.
        """
        if self.since is None:
            return None
        try:
            time = datetime.fromisoformat(self.since)
        except ValueError as error:
            raise QueryError(f"since: found '{self.since}', wanted a date: 2026-11-26") from error
        return time if time.tzinfo else time.replace(tzinfo=UTC)


def describe(done: Verification) -> Sequence[str]:
    """What was compared, and the command that mends the store, as sentences."""
    notes = [f"verified {done.n_dumps:,} dumps, of which {done.n_decoded:,} were decoded again"]
    if done.damages:
        notes.append(f"{len(done.damages):,} disagree; to mend the store, run '{done.remedy}'")
    return notes
