"""A Hypothesis state machine: a store beside its model, both asked after every step."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.support.store_model import BAD, File, Model, hash_of, name_files
from tests.support.store_template import copy_new_store
from tests.support.tiny_dumps import tiny_dump
from warehouse import Warehouse
from warehouse.archive.archive import Archive
from warehouse.archive.entries import DUMP
from warehouse.archive.verification import indexed_segments, verify_archive
from warehouse.engine import failpoints
from warehouse.errors import NoSuchDumpError, QueryError, StoreError
from warehouse.lake.compaction import compact_lake
from warehouse.lake.place import Lake
from warehouse.lake.verification import verify_lake
from warehouse.opening.read import open_snapshot
from warehouse.opening.snapshots import KEPT
from warehouse.point import Point
from warehouse.upkeep.amend import amend_manifests, parse_corrections, plan_amendments
from warehouse.upkeep.choice import choose_dumps
from warehouse.upkeep.compact import compact_store
from warehouse.upkeep.forget import forget_dumps
from warehouse.upkeep.nights import JudgedNight
from warehouse.upkeep.rebuild import rebuild_store
from warehouse.upkeep.reload import reload_dumps
from warehouse.upkeep.retain import drop_old_events, find_old_events

Run = Callable[[str], Iterable[tuple[Any, ...]]]

_DUMPS = """
SELECT d.sha256, d.source, d.manifest, v.name, v.pool, b.name, m.name, m.backend, b.ordinal,
    r.sha256, d.debug_buffer_sha256, d.n_events, coalesce(e.n, 0), o.dump_id IS NOT NULL,
    CAST(s.ticks AS BIGINT)
FROM dumps AS d
JOIN devices AS v ON v.device_id = d.device_id
JOIN builds AS b ON b.build_id = d.build_id
JOIN models AS m ON m.model_id = d.model_id
LEFT JOIN etrecords AS r ON r.etrecord_id = d.etrecord_id
LEFT JOIN (SELECT dump_id, count(*) AS n FROM events GROUP BY dump_id) AS e
    ON e.dump_id = d.dump_id
LEFT JOIN dropped_events AS o ON o.dump_id = d.dump_id
LEFT JOIN (SELECT dump_id, sum(sum_ticks) AS ticks FROM event_stats GROUP BY dump_id) AS s
    ON s.dump_id = d.dump_id
"""
_TABLES = {
    "dumps": _DUMPS,
    "errors": "SELECT source, sha256, reason, detail, manifest FROM ingest_errors",
    "decisions": "SELECT group_id, state, reason, build, device, pool FROM group_decisions",
    "forgotten": "SELECT sha256 FROM forgotten_dumps",
    "nights": "SELECT build, settings, verdict FROM judged_nights",
}
_FACTS = "SELECT sha256, dump_id, epoch_us(ingested_at) FROM dumps"
_UNUSED = """
SELECT name FROM devices WHERE device_id NOT IN (SELECT device_id FROM dumps)
UNION ALL SELECT name FROM builds WHERE build_id NOT IN (SELECT build_id FROM dumps)
UNION ALL SELECT name FROM models WHERE model_id NOT IN (SELECT model_id FROM dumps)
"""

_BUILDS = st.sampled_from(["b0", "b1", "b2"])
_FILES = st.lists(
    st.builds(
        File,
        st.one_of(st.integers(0, 5), st.integers(0, 5), st.none()),
        st.integers(0, 4),
        st.sampled_from([None, None, 0, 1]),
        st.sampled_from([None, None, 0, 1]),
    ),
    min_size=1,
    max_size=4,
)
_DATA = {hash_of(one): one for one in [BAD, *map(tiny_dump, range(6))]}


def observe(run: Run) -> dict[str, Any]:
    """What a store has, in the form of `Model.view`."""
    found: dict[str, Any] = {
        name: sorted(run(text), key=repr if name in {"errors", "decisions"} else None)
        for name, text in _TABLES.items()
    }
    return {**found, "forgotten": [hash_ for (hash_,) in found["forgotten"]]}


def check(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Compare what was found with what the model has."""
    for name, rows in wanted.items():
        lacking = [row for row in rows if row not in found[name]]
        strange = [row for row in found[name] if row not in rows]
        assert found[name] == rows, f"{name}: lacks {lacking}, has {strange}"


class Crash(BaseException):
    """The process is gone."""


# Only every tenth step takes long, so that there are many steps.
expensive = precondition(lambda self: self.n_cheap_steps >= 10)


class StoreMachine(RuleBasedStateMachine):
    """Operations on a store, its snapshots and its lake.

    A crash leaves what a kill at a failpoint would leave: a copy of all files at that moment. An
    interrupt is raised there instead, and the same store goes on.
    """

    def __init__(self) -> None:
        """Begin with a new store."""
        super().__init__()
        self.root = Path(mkdtemp(prefix="tracehouse-model-"))
        copy_new_store(self.store)
        self.warehouse = Warehouse.open(self.store)
        self.model = Model()
        self.failure = (0, False)  # which failpoint, and whether the process goes on
        self.is_archived = True
        self.n_cheap_steps = 0  # since the last expensive one
        self.facts: dict[str, tuple[Any, ...]] = {}

    @property
    def store(self) -> Path:
        return self.root / "store"

    @property
    def lake(self) -> Path:
        return self.root / "lake"

    def teardown(self) -> None:
        """Look at everything once more, and at the rows that a rebuild gives."""
        try:
            self.look_at_files()
            self.look_at_lake()
            if any(dump["is_archived"] for dump in self.model.dumps.values()):
                self.rebuild()
                self.compare()
        finally:
            self.warehouse.close()
            shutil.rmtree(self.root)

    @invariant()
    def compare(self) -> None:
        """Compare the store with the model, and numbers of dumps with what they were."""
        self.n_cheap_steps += 1
        execute = self.warehouse.writing.execute
        check(observe(lambda text: execute(text).fetchall()), self.model.view())
        facts = {row[0]: row[1:] for row in execute(_FACTS).fetchall()}
        before = {hash_: self.facts.get(hash_, own) for hash_, own in facts.items()}
        assert facts == before
        self.facts = facts
        assert not execute(_UNUSED).fetchall()

    def look_at_files(self) -> None:
        """Compare the archive and the newest snapshot with the model."""
        archive = Archive(self.store)
        checked = verify_archive(archive, indexed_segments(self.store))
        assert not [one for one in checked if one.problem]
        dumps = [entry for _, entry in archive.entries() if entry.kind == DUMP]
        wanted = {hash_ for hash_, dump in self.model.dumps.items() if dump["is_archived"]}
        assert sorted(str(one.sha256) for one in dumps) == sorted(wanted)
        assert all(bytes(one.data) == _DATA[one.sha256] for one in dumps)
        opened = open_snapshot(self.store)
        assert (opened is None) == (not self.model.snapshots)
        if opened:
            connection = opened.answering.connection("trusted", "SELECT")
            try:
                found = observe(lambda text: connection.execute(text).fetchall())
            finally:
                opened.release()
            check(found, self.model.snapshots[-1])

    def look_at_lake(self) -> None:
        """Compare the lake with the model."""
        if not self.model.lake:
            return
        assert not [one for one in verify_lake(Lake(self.lake)) if one.problem]
        with Warehouse.open_lake(self.lake) as lake:
            columns = lake.sql(_DUMPS).columns
        rows = zip(*(column.to_pylist() for column in columns), strict=True)
        found = {"dumps": sorted(rows)}
        check(found, {"dumps": Model(dumps=self.model.lake).view()["dumps"]})

    def act(self, states: list[Model], action: Callable[[], object]) -> None:
        """Do what leads through these states; a failure ends in one of them."""
        before, (self.failure, (place, goes_on)) = self.model, ((0, False), self.failure)
        self.model = states[-1]
        if not place:
            action()
            return
        try:
            with patch.object(failpoints, "os", self._failing(place, goes_on=goes_on)):
                action()
        except KeyboardInterrupt:
            pass
        except Crash:
            self.warehouse._release()
            self.root, old = self.root.with_name(f"{self.root.name}-"), self.root
            shutil.rmtree(old)
            self.warehouse = Warehouse.open(self.store)
        else:
            return
        self._settle([before, *states])

    def _failing(self, place: int, *, goes_on: bool) -> Any:
        """What stands for `os` in failpoints, of which the one with this number fails."""
        numbers = iter(range(1, place))

        def get(_: str) -> None:
            if next(numbers, None) is not None:
                return
            if goes_on:
                raise KeyboardInterrupt
            copy = self.root.with_name(f"{self.root.name}-")
            if not copy.exists():
                shutil.copytree(self.root, copy)
            raise Crash

        return SimpleNamespace(environ=SimpleNamespace(get=get))

    def _settle(self, states: list[Model]) -> None:
        """Find out in which state a failure has left the store."""
        execute = self.warehouse.writing.execute
        found = observe(lambda text: execute(text).fetchall())
        views = [state.view() for state in states]
        assert found in views
        self.model = states[len(views) - 1 - views[::-1].index(found)]

    def changed(self, change: Callable[[Model], object]) -> list[Model]:
        """The state after a change that is one transaction."""
        after = deepcopy(self.model)
        change(after)
        return [after]

    @initialize(is_archived=st.sampled_from([True, True, True, False]))
    def begin(self, *, is_archived: bool) -> None:
        """Decide whether everything goes into the archive, or only what a rule says."""
        self.is_archived = is_archived

    @rule(place=st.integers(1, 8), goes_on=st.booleans())
    def fail_next(self, place: int, *, goes_on: bool) -> None:
        """Have the next operation fail at a failpoint."""
        self.failure = (place, goes_on)

    @rule(files=_FILES, is_archived=st.booleans())
    def ingest(self, files: list[File], *, is_archived: bool) -> None:
        is_archived |= self.is_archived
        named = name_files(files)
        dumps = [file.incoming(source) for source, file in named]
        states = deepcopy(self.model).ingest(named, is_archived=is_archived)
        self.act(states, lambda: self.warehouse.ingest(dumps, archive=is_archived))

    @rule(
        build=_BUILDS,
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

    @rule(build=_BUILDS)
    def forget(self, build: str) -> None:
        def forget() -> None:
            writing = self.warehouse.writing
            chosen = choose_dumps(writing, where={"build": build})
            forget_dumps(writing, self.store, chosen, user="ann")

        self._choose(build, lambda model: model.forget(build), forget)

    def _choose(
        self, build: str, change: Callable[[Model], object], action: Callable[[], object]
    ) -> None:
        """Act on the dumps of a build, which must exist."""
        if self.model.matching(build):
            self.act(self.changed(change), action)
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
        build=_BUILDS, device=st.sampled_from([None, "d0", "d1"]), pool=st.sampled_from([None, "p"])
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

    @rule(build=_BUILDS, settings=st.sampled_from(["s0", "s1"]), verdict=st.sampled_from("ab"))
    def keep_night(self, build: str, settings: str, verdict: str) -> None:
        night = JudgedNight(build, settings, "inputs", verdict, "summary", verdict.encode())
        self.act(
            self.changed(lambda model: model.nights.update({(build, settings): verdict})),
            lambda: self.warehouse.keep_night(night),
        )

    @rule(kept=st.sampled_from([1, 2]))
    def snapshot(self, kept: int) -> None:
        self.warehouse.snapshot(kept=kept)
        self.model.publish(kept)
        self.look_at_files()

    @rule()
    def reopen(self) -> None:
        self.warehouse.close()
        self.warehouse = Warehouse.open(self.store)

    @expensive
    @rule(is_open=st.booleans())
    def compact(self, *, is_open: bool) -> None:
        self.n_cheap_steps = 0
        if is_open:
            self.warehouse.compact(nullcontext())
            self.model.publish(KEPT)
        else:
            self._closed(lambda: compact_store(self.store))
        self.model.replace_file()
        self.look_at_files()

    @expensive
    @rule()
    def rebuild(self) -> None:
        self.n_cheap_steps = 0
        self.failure = (0, False)
        if not Archive(self.store).segments() or not all(
            dump["is_archived"] for dump in self.model.dumps.values()
        ):
            with pytest.raises(StoreError):
                self._closed(lambda: rebuild_store(self.store))
            return
        if not self.is_archived:  # what came before the archive would be lost
            return
        done = self._closed(lambda: rebuild_store(self.store))
        different = [table for table in done.tables if not table.is_equal]
        assert not different, different
        self.model.replace_file()

    @rule(build=_BUILDS)
    def reload(self, build: str) -> None:
        self.failure = (0, False)
        chosen = self.model.matching(build)
        dumps = choose_dumps(self.warehouse.writing, where={"build": build}) if chosen else []
        if not all(self.model.dumps[hash_]["is_archived"] for hash_ in chosen):
            with pytest.raises(QueryError):
                reload_dumps(self.warehouse.writing, self.store, dumps)
            return
        done = reload_dumps(self.warehouse.writing, self.store, dumps)
        assert [one[-1] for one in done] == [""] * len(chosen)
        self.model.nights = {}

    def _closed(self, action: Callable[[], Any]) -> Any:
        self.warehouse.close()
        try:
            return action()
        finally:
            self.warehouse = Warehouse.open(self.store)

    @expensive
    @rule()
    def export_lake(self) -> None:
        self.n_cheap_steps = 0
        self.failure = (0, False)
        self.act(deepcopy(self.model).export(), lambda: self.warehouse.export_lake(self.lake))
        self.look_at_lake()

    @expensive
    @rule(hours=st.sampled_from([0, 48]))
    def compact_lake(self, hours: int) -> None:
        self.n_cheap_steps = 0
        if self.model.lake is None:
            return
        compact_lake(Lake(self.lake), now=datetime.now(UTC) + timedelta(hours=hours))
        self.look_at_lake()
