"""The task that verifies a store."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

from tracehouse.cli.upkeep.store_task import UPKEEP, TaskStore, with_notes
from tracehouse.warehouse.errors import QueryError

if TYPE_CHECKING:
    import pyarrow as pa

    from tracehouse.warehouse.upkeep.verification import Sample, Verification


_IN_LAKE = "rows in the lake differ from those of the store"
_AGAIN = "restore it from a copy, or run 'tracehouse export lake' into an empty one"


@dataclass(frozen=True, kw_only=True)
class Verify:
    """Compare the rows of dumps with those that a rebuild from the archive gives."""

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
        """The rows that are wrong."""
        from tracehouse.warehouse.upkeep.verification import verify_and_record

        live = store.warehouse.writing
        done = verify_and_record(live, store.path, self.sample(), progress=store.progress)
        return self.report(done, self.find_wrong_dumps(live))

    def sample(self) -> Sample:
        """The dumps to verify: all, or some from a random one on."""
        from tracehouse.warehouse.upkeep.verification import Sample

        start = random.random() if self.share < 1 else 0.0  # noqa: S311 - no secret
        return Sample(self.share, start, self._since())

    def find_wrong_dumps(self, live: Any) -> list[tuple[str, str]]:
        """SHA-256 and tables of the dumps that differ between the lake and an open store."""
        from tracehouse.warehouse.lake.place import Lake
        from tracehouse.warehouse.lake.verification import find_wrong_dumps

        return [] if self.lake is None else find_wrong_dumps(live, Lake(self.lake))

    def report(self, done: Verification, in_lake: Sequence[tuple[str, str]] = ()) -> pa.Table:
        """The wrong rows of the store, and of dumps in the lake."""
        import pyarrow as pa

        from tracehouse.queries.report.figures import count_text
        from tracehouse.warehouse.upkeep.verification_record import REMEDY

        found, count = done.table(), len(done.damages)
        remedy = f"{count_text(count, 'difference')}; to remove them, run '{REMEDY}'"
        result = remedy if count else "no row differs"
        notes = [f"compared {count_text(len(done.dumps), 'dump')} with the archive: {result}"]
        if in_lake:
            rows = [
                {"sha256": sha256, "source": self.lake, "tables": tables, "problem": _IN_LAKE}
                for sha256, tables in in_lake
            ]
            found = pa.concat_tables([found, pa.Table.from_pylist(rows, found.schema)])
            verb = "differs" if len(rows) == 1 else "differ"
            notes.append(f"{count_text(len(rows), 'dump')} {verb} in the lake; {_AGAIN}")
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
