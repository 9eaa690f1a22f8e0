"""The task that verifies a store."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from tracehouse.cli.upkeep.store_task import UPKEEP, TaskStore, with_notes
from tracehouse.warehouse.errors import QueryError

if TYPE_CHECKING:
    import pyarrow as pa

    from tracehouse.warehouse.store import Store
    from tracehouse.warehouse.upkeep.verification import Verification


_AGAIN = "restore it from a copy, or run 'tracehouse export lake' into an empty one"


@dataclass(frozen=True, kw_only=True)
class Verify:
    """Compare the rows of dumps with their digests, and with the dumps decoded again."""

    name: ClassVar = "verify"
    scopes: ClassVar[tuple[str, ...]] = (UPKEEP,)
    share: float = 0.01
    since: str | None = None
    lake: str | None = None

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise QueryError(f"share: found {self.share:g}, wanted more than 0 and at most 1")
        self._since()
        if self.lake is not None:
            from tracehouse.warehouse.lake.addresses import check_address

            check_address(self.lake)

    def run(self, store: TaskStore) -> pa.Table:
        """The damages; none if all rows are what they were."""
        import pyarrow as pa

        from tracehouse.warehouse.upkeep.verification import Sample, verify_store

        start = random.random() if self.share < 1 else 0.0  # noqa: S311 - no secret
        sample = Sample(self.share, start, self._since())
        done = verify_store(
            store.warehouse.writing, store.path, sample=sample, progress=store.progress
        )
        found, notes = done.table(), [*describe(done)]
        if self.lake is not None:
            rows = _verify_lake(store.warehouse, self.lake)
            found = pa.concat_tables([found, pa.Table.from_pylist(rows, found.schema)])
            notes += [f"{len(rows):,} dumps of the lake disagree; {_AGAIN}"] * bool(rows)
        return with_notes(found, notes)

    def _since(self) -> datetime | None:
        """The time of `since`.

        Raises:
            QueryError: It is not a date.
        """
        from tracehouse.warehouse.catalogue.parameters import parse_time

        if self.since is None:
            return None
        try:
            return parse_time(self.since)
        except ValueError as error:
            raise QueryError(f"since: found '{self.since}', wanted a date: 2026-11-26") from error


def _verify_lake(warehouse: Store, lake: str) -> list[dict[str, object]]:
    from tracehouse.warehouse.lake.place import Lake
    from tracehouse.warehouse.lake.wrong_dumps import find_wrong_dumps

    problem = "rows in the lake disagree with the digests of the store"
    return [
        {"sha256": sha256, "source": lake, "tables": tables, "problem": problem}
        for sha256, tables in find_wrong_dumps(warehouse.writing, Lake(lake))
    ]


def describe(done: Verification) -> Sequence[str]:
    """What was compared, and the command that mends the store, as sentences."""
    return [
        f"verified {done.n_dumps:,} dumps, of which {done.n_decoded:,} were decoded again",
        *_describe_damages(done),
    ]


def describe_drill(done: Verification) -> Sequence[str]:
    """What a drill compared, and the command that mends the store, as sentences."""
    return [
        f"rebuilt {done.n_decoded:,} dumps in a scratch store, and compared all their rows",
        *_describe_damages(done),
    ]


def _describe_damages(done: Verification) -> Sequence[str]:
    if not done.damages:
        return []
    return [f"{len(done.damages):,} disagree; to mend the store, run '{done.remedy}'"]
