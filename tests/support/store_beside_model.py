"""A store beside its model: changed together, made to fail, and compared."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from tests.support.moments import watched
from tests.support.store_model import BAD, Model, hash_of
from tests.support.store_observation import (
    FACTS,
    check,
    observe,
    observe_archive,
    observe_lake,
    observe_snapshot,
    rows_of,
)
from tests.support.store_template import copy_new_store
from tests.support.tiny_dumps import tiny_dump
from tracehouse import Warehouse
from tracehouse.warehouse.inbox.log import find_logs
from tracehouse.warehouse.upkeep.compact import is_compaction_wanted

_DATA = {hash_of(one): one for one in [BAD, *map(tiny_dump, range(6))]}


class Crash(BaseException):
    """The process is gone."""


class StoreBesideModel:
    """Operations on a store, its snapshots and its lake.

    A crash leaves what a kill at a moment would leave: a copy of all files at that moment. An
    interrupt is raised there instead, and the same store goes on.
    """

    def __init__(self) -> None:
        """Begin with a new store."""
        self.root = Path(mkdtemp(prefix="tracehouse-model-"))
        copy_new_store(self.store)
        self.warehouse = Warehouse.open_to_write(self.store)
        self.model = Model()
        self.failure = (0, False)  # at which moment, and whether the process goes on
        self.facts: dict[str, tuple[Any, ...]] = {}

    @property
    def store(self) -> Path:
        return self.root / "store"

    @property
    def lake(self) -> Path:
        return self.root / "lake"

    def compare(self) -> None:
        """Compare the store with the model, and numbers of dumps with what they were."""
        check(observe(self.warehouse.writing), self.model.view())
        execute = self.warehouse.writing.execute
        facts = {row[0]: row[1:] for row in execute(FACTS).fetchall()}
        before = {hash_: self.facts.get(hash_, own) for hash_, own in facts.items()}
        assert facts == before
        self.facts = facts

    def look_at_files(self) -> None:
        """Compare the archive and the newest snapshot with the model."""
        assert observe_archive(self.store) == {hash_: _DATA[hash_] for hash_ in self.model.dumps}
        newest = observe_snapshot(self.store)
        assert (newest is None) == (not self.model.snapshots)
        if newest:
            check(newest, self.model.snapshots[-1])

    def look_at_lake(self) -> None:
        """Compare the lake with the model."""
        if self.model.lake:
            check({"dumps": observe_lake(self.lake)}, {"dumps": rows_of(self.model.lake)})

    def act(
        self, states: list[Model], action: Callable[[], object], *, is_reopened: bool = False
    ) -> None:
        """Do what leads through these states; a failure ends in one of them.

        If `is_reopened`, the store is opened again after an interrupt, too.
        """
        before, (self.failure, (place, goes_on)) = self.model, ((0, False), self.failure)
        self.model = states[-1]
        if not place:
            action()
            return
        try:
            with watched(self._failing(place, goes_on=goes_on)):
                action()
            return
        except KeyboardInterrupt:
            if is_reopened:
                self._abandon()
        except Crash:
            self._abandon(self.root.with_name(f"{self.root.name}-"))
        self._settle([before, *states])

    def _abandon(self, root: Path | None = None) -> None:
        """Open the store, or what a crash left of it, without closing it before."""
        self.warehouse._session.close(Crash())
        if root:
            shutil.rmtree(self.root)
            self.root = root
        self.warehouse = Warehouse.open_to_write(self.store)

    def _failing(self, place: int, *, goes_on: bool) -> Callable[[str], None]:
        """A function to call at moments, of which the one with this number fails."""
        numbers = iter(range(1, place))

        def fail(_: str) -> None:
            if next(numbers, None) is not None:
                return
            if goes_on:
                raise KeyboardInterrupt
            copy = self.root.with_name(f"{self.root.name}-")
            if not copy.exists():
                shutil.copytree(self.root, copy)
            raise Crash

        return fail

    def _settle(self, states: list[Model]) -> None:
        """Find out in which state a failure has left the store, its snapshots and its lake."""
        found, lakes = observe(self.warehouse.writing), [state.lake for state in states]
        there = [state for state in states if state.view() == found]
        assert there, (found, [state.view() for state in states])
        self.model = there[-1].copy()
        newest = observe_snapshot(self.store)
        snapshots = [one.snapshots for one in states if (one.snapshots or [None])[-1] == newest]
        assert snapshots, newest
        self.model.snapshots = snapshots[-1]
        self.model.is_compaction_wanted = is_compaction_wanted(self.store)
        n_logs = len(find_logs(self.store / "inbox"))
        self.model.waiting = states[0].waiting[len(states[0].waiting) - n_logs :]
        if lakes[-1] != lakes[0]:
            rows = observe_lake(self.lake)
            assert rows in [rows_of(lake) for lake in lakes]
            self.model.lake = next(lake for lake in lakes[::-1] if rows_of(lake) == rows)

    def changed(self, change: Callable[[Model], object]) -> list[Model]:
        """The state after a change that is one transaction."""
        after = self.model.copy()
        change(after)
        return [after]
