"""The task that verifies a store."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from tracehouse.cli.upkeep.store_task import UPKEEP, TaskStore, with_notes
from tracehouse.warehouse.errors import QueryError

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from tracehouse.warehouse.upkeep.verification import Sample, Verification


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
        from tracehouse.cli.upkeep.verifying import verify

        done = verify(store.warehouse.writing, store.path, self.sample(), progress=store.progress)
        return self.report(done, store.warehouse.writing)

    def sample(self) -> Sample:
        """The dumps to verify: all, or some from a random one on."""
        from tracehouse.warehouse.upkeep.verification import Sample

        start = random.random() if self.share < 1 else 0.0  # noqa: S311 - no secret
        return Sample(self.share, start, self._since())

    def report(self, done: Verification, connection: duckdb.DuckDBPyConnection) -> pa.Table:
        """The wrong rows of the store that was verified, and of the lake."""
        import pyarrow as pa

        from tracehouse.warehouse.upkeep.verification import REMEDY

        found, notes = done.table(), [f"compared {len(done.dumps):,} dumps with the archive"]
        if done.damages:
            notes.append(f"{len(done.damages):,} disagree; to mend the store, run '{REMEDY}'")
        if self.lake is not None:
            rows = _verify_lake(connection, self.lake)
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


def _verify_lake(connection: duckdb.DuckDBPyConnection, lake: str) -> list[dict[str, object]]:
    from tracehouse.warehouse.lake.place import Lake
    from tracehouse.warehouse.lake.wrong_dumps import find_wrong_dumps

    problem = "rows in the lake differ from those of the store"
    return [
        {"sha256": sha256, "source": lake, "tables": tables, "problem": problem}
        for sha256, tables in find_wrong_dumps(connection, Lake(lake))
    ]
