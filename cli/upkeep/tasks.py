"""The upkeep tasks of a store."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

from tracehouse.cli.upkeep.task import UPKEEP, Task, TaskStore, with_notes
from tracehouse.cli.upkeep.triage import Accept, Note
from tracehouse.warehouse.errors import NoSuchDumpError, QueryError

if TYPE_CHECKING:
    import pyarrow as pa

    from tracehouse.warehouse.upkeep.amend import Amendment
    from tracehouse.warehouse.upkeep.choice import ChosenDump
    from tracehouse.warehouse.upkeep.verification import Sample, Verification

_UNCHANGED = "nothing was changed; add --yes to"
_IN_LAKE = "rows in the lake differ from those of the store"
_AGAIN = "restore it from a copy, or run 'tracehouse export lake' into an empty one"


@dataclass(frozen=True, kw_only=True)
class Retention:
    """Drop the raw events of old dumps; without yes, only list them by build."""

    name: ClassVar = "retention"
    scopes: ClassVar[tuple[str, ...]] = (UPKEEP,)
    raw_days: int
    keep_builds: str | None = None
    lake: str | None = None
    yes: bool = False

    def __post_init__(self) -> None:
        if self.raw_days < 0:
            raise QueryError(f"raw_days: found {self.raw_days}, wanted 0 or more")
        if self.lake is not None:
            from tracehouse.warehouse.lake.addresses import check_address

            check_address(self.lake)

    def run(self, store: TaskStore) -> pa.Table:
        """Builds with old events."""
        from tracehouse.warehouse.upkeep.retain import (
            drop_old_events,
            find_old_events,
            sum_by_build,
        )

        writing, notes = store.warehouse.writing, list[str]()
        old = find_old_events(writing, days=self.raw_days, kept_builds=self.keep_builds)
        if self.lake is not None:
            count, old = old.num_rows, _find_in_lake(old, self.lake)
            if missing := count - old.num_rows:
                notes.append(
                    f"the lake lacks {missing:,} of the dumps; run 'tracehouse export lake' first"
                )
        if self.yes:
            drop_old_events(writing, store.path, old, progress=store.progress)
        elif old.num_rows:
            notes.append(f"{_UNCHANGED} drop these events")
        return with_notes(sum_by_build(old), notes)


@dataclass(frozen=True, kw_only=True)
class Compact:
    """Return the space that was freed in a store to the disk."""

    name: ClassVar = "compact"
    scopes: ClassVar[tuple[str, ...]] = (UPKEEP,)

    def run(self, store: TaskStore) -> pa.Table:
        """Sizes before and after."""
        import pyarrow as pa

        done = store.compact()
        is_same = done.new_bytes == done.old_bytes
        note = "the DuckDB file has no space to return: a copy of it is not smaller"
        return with_notes(pa.Table.from_pylist([done._asdict()]), [note] * is_same)


@dataclass(frozen=True, kw_only=True)
class Amend:
    """Correct the manifests of dumps; without yes, only list the fields that would change."""

    name: ClassVar = "amend"
    scopes: ClassVar[tuple[str, ...]] = (UPKEEP,)
    set: tuple[str, ...]
    where: Mapping[str, str] = field(default_factory=dict)
    dump: str | None = None
    yes: bool = False

    def __post_init__(self) -> None:
        from tracehouse.warehouse.upkeep.amend import parse_corrections
        from tracehouse.warehouse.upkeep.choice import check_choice

        parse_corrections(self.set)
        check_choice(prefix=self.dump, where=self.where)

    def run(self, store: TaskStore) -> pa.Table:
        """A row for each field that changes."""
        import pyarrow as pa

        from tracehouse.warehouse.upkeep.amend import (
            amend_manifests,
            parse_corrections,
            plan_amendments,
        )
        from tracehouse.warehouse.upkeep.choice import choose_dumps

        writing = store.warehouse.writing
        chosen = choose_dumps(writing, prefix=self.dump, where=self.where)
        planned = plan_amendments(writing, chosen, parse_corrections(self.set))
        if self.yes:
            amend_manifests(writing, store.path, planned)
        texts = ("sha256", "source", "field", "old", "new")
        columns = [("dump_id", pa.int32()), *((name, pa.string()) for name in texts)]
        rows = [row for one in planned for row in _changed_fields(one)]
        notes = [f"{_UNCHANGED} correct these manifests"] * (bool(planned) and not self.yes)
        return with_notes(pa.Table.from_pylist(rows, pa.schema(columns)), notes)


@dataclass(frozen=True, kw_only=True)
class Forget:
    """Delete dumps for good; without yes, only list them."""

    name: ClassVar = "forget"
    scopes: ClassVar[tuple[str, ...]] = (UPKEEP,)
    device: str | None = None
    build: str | None = None
    dump: str | None = None
    yes: bool = False

    def __post_init__(self) -> None:
        from tracehouse.warehouse.upkeep.choice import check_choice

        check_choice(prefix=self.dump, where=self._where)

    def run(self, store: TaskStore) -> pa.Table:
        """The dumps; none and no columns if only an interrupted forget was completed."""
        import pyarrow as pa

        from tracehouse.warehouse.upkeep.forget import (
            find_kept_files,
            finish_forgetting,
            forget_dumps,
        )

        chosen, notes = self._choose(store), list[str]()
        if not chosen:
            notes.append("completed an interrupted 'tracehouse store forget'; no such dump is left")
        if self.yes:
            if chosen:
                forget_dumps(store.warehouse.writing, store.path, chosen, user=store.user)
            finish_forgetting(store.compact)
            notes += [
                f"{path}: an old file was kept, which may contain forgotten dumps; delete it"
                for path in find_kept_files(store.path)
            ]
        else:
            notes.append(f"{_UNCHANGED} delete these dumps for good")
        rows = [{**one._asdict(), "manifest": None} for one in chosen]
        table = pa.Table.from_pylist(rows)
        return with_notes(table.drop_columns(["manifest"]) if rows else table, notes)

    @property
    def _where(self) -> dict[str, str]:
        stated = {"device": self.device, "build": self.build}
        return {name: value for name, value in stated.items() if value is not None}

    def _choose(self, store: TaskStore) -> list[ChosenDump]:
        """The chosen dumps; none if a forget was interrupted that has to be completed.

        Raises:
            NoSuchDumpError: No dump matches, and no forget was interrupted.
        """
        from tracehouse.warehouse.upkeep.choice import choose_dumps
        from tracehouse.warehouse.upkeep.compact import is_compaction_wanted

        try:
            return choose_dumps(store.warehouse.writing, prefix=self.dump, where=self._where)
        except NoSuchDumpError:
            if self.yes and is_compaction_wanted(store.path):
                return []
            raise


@dataclass(frozen=True, kw_only=True)
class TakeSnapshot:
    """Publish a snapshot of the store, and keep this number of them."""

    name: ClassVar = "snapshot"
    scopes: ClassVar[tuple[str, ...]] = (UPKEEP,)
    keep: int | None = None

    def __post_init__(self) -> None:
        if self.keep is not None and self.keep < 1:
            raise QueryError(f"keep: found {self.keep}, wanted 1 or more")

    def run(self, store: TaskStore) -> pa.Table:
        """The snapshot's path, time and size."""
        import pyarrow as pa

        path, _, taken_at = store.warehouse.snapshot(kept=self.keep)
        row = {"path": str(path), "taken_at": taken_at, "bytes": path.stat().st_size}
        return pa.Table.from_pylist([row])


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


TASKS: tuple[type[Task], ...] = (
    *(Retention, Compact, Amend, Forget, Accept, Note),
    *(TakeSnapshot, Verify),
)


def _find_in_lake(old: pa.Table, lake: str) -> pa.Table:
    """The dumps whose events are all in the lake."""
    import pyarrow as pa

    from tracehouse.warehouse.lake.place import Lake
    from tracehouse.warehouse.lake.verification import find_whole_dumps

    hashes = old["sha256"].to_pylist()
    held = find_whole_dumps(Lake(lake), hashes)
    return old.filter(pa.array([one in held for one in hashes], pa.bool_()))


def _changed_fields(amendment: Amendment) -> Iterator[dict[str, object]]:
    dump = amendment.dump
    for name, old, new in amendment.changes():
        of_dump = {"dump_id": dump.dump_id, "sha256": dump.sha256, "source": dump.source}
        yield {**of_dump, "field": name, "old": old, "new": new}
