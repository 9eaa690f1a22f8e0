"""A Hypothesis state machine: a store beside its model, both asked after every step."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.support.store_beside_model import StoreBesideModel
from tests.support.store_model import File, Model, name_files
from tracehouse import Warehouse
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.errors import NoSuchDumpError, QueryError, StoreError
from tracehouse.warehouse.lake.compaction import compact_lake
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.opening.snapshots import KEPT
from tracehouse.warehouse.point import Point
from tracehouse.warehouse.upkeep.amend import amend_manifests, parse_corrections, plan_amendments
from tracehouse.warehouse.upkeep.choice import choose_dumps
from tracehouse.warehouse.upkeep.compact import compact_store
from tracehouse.warehouse.upkeep.forget import forget_dumps
from tracehouse.warehouse.upkeep.nights import JudgedNight
from tracehouse.warehouse.upkeep.rebuild import rebuild_store
from tracehouse.warehouse.upkeep.retain import drop_old_events, find_old_events

BUILDS = st.sampled_from(["b0", "b1", "b2"])
FILE = st.builds(
    File,
    st.one_of(st.integers(0, 5), st.integers(0, 5), st.none()),
    st.integers(0, 4),
    st.sampled_from([None, None, 0, 1]),
    st.sampled_from([None, None, 0, 1]),
)


def after_cheap_steps(count: int) -> Callable[[Any], Any]:
    """Let a rule that takes long begin only after so many others, so that there are many steps."""
    return precondition(lambda self: self.n_cheap_steps >= count)


class StoreMachine(StoreBesideModel, RuleBasedStateMachine):
    """Operations on a store, its snapshots and its lake, in any order.

    Attributes:
        n_steps: How many all machines have taken.
    """

    n_steps: ClassVar = 0

    def __init__(self) -> None:
        """Begin with a new store."""
        RuleBasedStateMachine.__init__(self)
        StoreBesideModel.__init__(self)
        self.n_cheap_steps = 0  # since the last expensive one
        self.is_reading = False

    @invariant()
    def is_like_model(self) -> None:
        """Compare after every step, or after the next one if this one only reads."""
        self.n_cheap_steps += 1
        StoreMachine.n_steps += 1
        if not self.is_reading:
            self.compare()
        self.is_reading = False

    def teardown(self) -> None:
        """Look at everything once more, and at the rows that a rebuild gives."""
        try:
            self.compare()
            self.look_at_files()
            self.look_at_lake()
            if self.model.dumps:
                self.rebuild()
                self.compare()
        finally:
            self.warehouse.close()
            shutil.rmtree(self.root)

    @initialize(files=st.lists(FILE, max_size=6))
    def begin(self, *, files: list[File]) -> None:
        """Put the first dumps into the store."""
        self.ingest(files)

    @rule(place=st.integers(1, 8), goes_on=st.booleans())
    def fail_next(self, place: int, *, goes_on: bool) -> None:
        """Have the next operation fail at a moment."""
        self.failure, self.is_reading = (place, goes_on), True

    @rule(file=FILE)
    def ingest_one(self, file: File) -> None:
        self.ingest([file])

    @rule(files=st.lists(FILE, min_size=2, max_size=4))
    def ingest(self, files: list[File]) -> None:
        named = name_files(files)
        dumps = [file.incoming(source) for source, file in named]
        states = self.model.copy().ingest(named)
        self.act(states, lambda: self.warehouse.ingest(dumps))

    @rule(
        build=BUILDS,
        stated=st.sampled_from(
            ["build.id=b1", "device.pool=q", "build.ordinal=7", "model.name=m2"]
        ),
    )
    def amend(self, build: str, stated: str) -> None:
        field, _, value = stated.partition("=")
        part, _, name = field.partition(".")
        corrections = {(part, name): int(value) if name == "ordinal" else value}

        def amend() -> None:
            writing = self.warehouse.writing
            chosen = choose_dumps(writing, where={"build": build})
            planned = plan_amendments(writing, chosen, parse_corrections([stated]))
            amend_manifests(writing, self.store, planned)

        self._choose(build, lambda model: model.amend(build, corrections), amend)

    @rule(build=BUILDS)
    def forget(self, build: str) -> None:
        def forget() -> None:
            writing = self.warehouse.writing
            chosen = choose_dumps(writing, where={"build": build})
            forget_dumps(writing, self.store, chosen, user="ann")

        # A forget that was interrupted is finished by whoever opens the store next.
        self._choose(build, lambda model: model.forget(build), forget, is_reopened=True)

    def _choose(
        self,
        build: str,
        change: Callable[[Model], object],
        action: Callable[[], object],
        **options: bool,
    ) -> None:
        """Act on the dumps of a build, which must exist."""
        if self.model.matching(build):
            self.act(self.changed(change), action, **options)
        else:
            with pytest.raises(NoSuchDumpError):
                action()

    @rule(days=st.sampled_from([0, 30]), kept=st.sampled_from([None, "b0", "b[12]"]))
    def drop_old_events(self, days: int, kept: str | None) -> None:
        def drop() -> None:
            writing = self.warehouse.writing
            old = find_old_events(writing, days=days, kept_builds=kept)
            drop_old_events(writing, self.store, old)

        self.act(self.changed(lambda model: model.drop_old_events(days=days, kept=kept)), drop)

    @rule(name=st.sampled_from(["g0", "g1"]), state=st.sampled_from(["accepted", "reopened"]))
    def decide(self, name: str, state: str) -> None:
        self.act(
            self.changed(lambda model: model.decide(name, state, "why")),
            lambda: self.warehouse.decide(name, state=state, reason="why"),
        )

    @rule(
        build=BUILDS, device=st.sampled_from([None, "d0", "d1"]), pool=st.sampled_from([None, "p"])
    )
    def write_note(self, build: str, device: str | None, pool: str | None) -> None:
        point = Point(build, device, pool)
        ids: list[str] = []

        def write() -> None:
            ids.append(self.warehouse.write_note("text", **point._asdict()))

        if not self.model.has(build, device, pool):
            with pytest.raises(QueryError):
                write()
            return
        self.failure = (0, False)  # the id of a note is known once it is written
        write()
        self.model.decide(ids[0], "noted", "text", point)

    @rule(number=st.integers(0, 3))
    def withdraw_note(self, number: int) -> None:
        notes = [one for one in self.model.decisions if one[1] == "noted"]
        gone = {one[0] for one in self.model.decisions if one[1] == "withdrawn"}
        if number >= len(notes):
            return
        name, _, _, *on = notes[number]
        if name in gone:
            with pytest.raises(QueryError):
                self.warehouse.withdraw_note(name)
            return
        self.act(
            self.changed(lambda model: model.decide(name, "withdrawn", "", Point(*on))),
            lambda: self.warehouse.withdraw_note(name),
        )

    @rule(name=st.sampled_from(["coverage", "notes", "ingest_errors"]))
    def ask(self, name: str) -> None:
        self.is_reading = True
        rows = self.warehouse.query(name).to_pylist()
        wanted = self.model.answer(name)
        found = [{column: row[column] for column in wanted[0]} for row in rows] if wanted else rows
        assert sorted(found, key=repr) == sorted(wanted, key=repr)

    @rule(build=BUILDS, settings=st.sampled_from(["s0", "s1"]), verdict=st.sampled_from("ab"))
    def keep_night(self, build: str, settings: str, verdict: str) -> None:
        night = JudgedNight(build, settings, "inputs", verdict, "summary", verdict.encode())
        self.act(
            self.changed(lambda model: model.nights.update({(build, settings): verdict})),
            lambda: self.warehouse.keep_night(night),
        )

    @after_cheap_steps(15)
    @rule(kept=st.sampled_from([1, 2]))
    def snapshot(self, kept: int) -> None:
        self.n_cheap_steps = 0
        published = self.changed(lambda model: model.publish(kept))
        self.act(published, lambda: self.warehouse.snapshot(kept=kept))
        self.look_at_files()

    @after_cheap_steps(15)
    @rule()
    def reopen(self) -> None:
        self.n_cheap_steps = 0
        self.warehouse.close()
        self.warehouse = Warehouse.open_to_write(self.store)

    @after_cheap_steps(40)
    @rule(is_open=st.booleans())
    def compact(self, *, is_open: bool) -> None:
        self.n_cheap_steps = 0
        published = self.changed(lambda model: model.publish(KEPT) if is_open else None)
        replaced = published[0].copy()
        replaced.replace_file()
        self.act(
            [*published, replaced],
            lambda: (
                self.warehouse.compact(nullcontext())
                if is_open
                else self._closed(lambda: compact_store(self.store))
            ),
            is_reopened=True,
        )
        self.look_at_files()

    @after_cheap_steps(40)
    @rule()
    def rebuild(self) -> None:
        self.n_cheap_steps = 0
        if not Archive(self.store).segments():
            with pytest.raises(StoreError):
                self._closed(lambda: rebuild_store(self.store))
        else:
            rebuilt = self.changed(lambda model: model.replace_file())
            self.act(rebuilt, lambda: self._closed(self._rebuild), is_reopened=True)

    def _rebuild(self) -> None:
        done = rebuild_store(self.store)
        different = [one for one in done.tables if not one.is_equal]
        assert not different, different

    def _closed(self, action: Callable[[], Any]) -> Any:
        self.warehouse.close()
        try:
            return action()
        finally:
            self.warehouse = Warehouse.open_to_write(self.store)

    @after_cheap_steps(40)
    @rule()
    def export_lake(self) -> None:
        self.n_cheap_steps = 0
        self.act(self.model.copy().export(), lambda: self.warehouse.export_lake(self.lake))
        self.look_at_lake()

    @after_cheap_steps(40)
    @rule(hours=st.sampled_from([0, 48]))
    def compact_lake(self, hours: int) -> None:
        self.n_cheap_steps = 0
        lake = Lake(self.lake)
        if lake.exists():
            compact_lake(lake, now=datetime.now(UTC) + timedelta(hours=hours))
        self.look_at_lake()
