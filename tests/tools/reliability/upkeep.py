"""Kill those who keep a store in order, again and again: `make torture`.

A store with a history goes through one command, which is killed at a random moment, or wherever
`moments` lets it be killed, one place after the other. Whoever opens the store next must find it
as it was before the command or as it is after it, with an archive that is whole and gives the same
tables when the store is rebuilt from it.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from tests.support.forks import BAD_ENDS, fork, kill_after, wait
from tests.support.kills import die_at
from tests.tools.reliability.findings import Findings, Results, run_recorded
from tests.tools.reliability.operations import Operation, list_operations, make_history, write_files
from tracehouse import Warehouse
from tracehouse.ingest.schemas.dumps import STORED
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.archive.verification import indexed_segments, verify_archive
from tracehouse.warehouse.engine.store_checks import seal_of
from tracehouse.warehouse.engine.store_file import FILE_NAME, SNAPSHOT_FOLDER
from tracehouse.warehouse.errors import StoreError
from tracehouse.warehouse.upkeep.rebuild import rebuild_store

MOMENTS = (
    "decoded", "seal", "sealed", "commit", "log sum", "committed", "checkpoint",
    "delete segment", "erase snapshots", "erased", "set aside", "swap", "swapped", "publish",
    "published",
)  # fmt: skip
OPERATIONS = tuple(list_operations(Path()))
READY_SECONDS = 5.0  # of CPU time, which a busy machine does not lengthen

State = list[dict[str, Any]]


def _is_time(field: pa.Field) -> bool:
    return pa.types.is_timestamp(field.type)


def select_state() -> str:
    """SQL for count and sum of the rows of every table, but for the times when they were made."""
    parts = []
    for name, schema in STORED.items():
        kept = [one.name for one in schema if not _is_time(one)]
        columns = ", ".join(kept)
        total = f"coalesce(sum(hash({columns})), 0)::VARCHAR AS total"
        parts.append(f"SELECT '{name}' AS name, count(*) AS n, {total} FROM {name}")  # noqa: S608
    return " UNION ALL ".join(parts) + " ORDER BY name"


def read_state(store: Path) -> State:
    """What a reader finds in every table, but for the times when it was done."""
    with Warehouse.open(store, read_only=True) as warehouse:
        return warehouse.sql(select_state()).to_pylist()


class Expectation(NamedTuple):
    """An operation, the states before and after it, and its seconds when it is not killed."""

    name: str
    operation: Operation
    before: State
    after: State
    seconds: float


class Trial:
    """A store with a history; operations on copies of the store are killed."""

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        """Make the store, and try each operation once without killing it."""
        self._folder = folder
        self._whole, self._store = folder / "whole", folder / "store"
        self._rebuilt: set[str] = set()
        write_files(folder / "files")
        self._run(lambda: make_history(self._whole, folder / "files"))
        operations = list_operations(folder / "files")
        self.expected = [self._expect(name, operations[name]) for name in names]

    def _expect(self, name: str, operation: Operation) -> Expectation:
        self._copy()
        Warehouse.open_to_write(self._store).close()
        before = read_state(self._store)
        self._copy()
        start = time.perf_counter()
        self._run(partial(operation, self._store))
        seconds = time.perf_counter() - start
        return Expectation(name, operation, before, read_state(self._store), seconds)

    def kill(self, expected: Expectation, *, seconds: float = 0.0, point: str = "") -> str:
        """The outcome of an operation that is killed after a time or at a named moment."""
        self._copy()
        act = partial(self._do, expected.operation, point)
        return wait(fork(act)) if point else kill_after(seconds, act)

    def check(self, expected: Expectation, outcome: str) -> tuple[str, float]:
        """Problems of the store that is left, and the seconds until it was ready."""
        start = time.process_time()
        seconds = 0.0
        wanted = [expected.after] if outcome == "done" else [expected.before, expected.after]
        try:
            is_seen = _rows(read_state(self._store)) in map(_rows, wanted)
            start = time.process_time()
            Warehouse.open_to_write(self._store).close()
            seconds = time.process_time() - start
            found = read_state(self._store)
            problems = {
                outcome: outcome in BAD_ENDS,
                "a reader sees another state": not is_seen,
                "another state": found not in wanted,
                "too late": seconds > READY_SECONDS,
                **self._look_at_files(expected, is_after=found == expected.after),
            }
            problems["rebuilt, it differs"] = not self._is_rebuilt_equal(found)
        except StoreError as error:
            return f"not ready: {error}", time.process_time() - start
        return ", ".join(name for name, is_so in problems.items() if is_so), seconds

    def _is_rebuilt_equal(self, state: State) -> bool:
        """Whether a rebuild gives the same rows; each archive is tried once."""
        tried = f"{sorted(path.name for path in Archive(self._store).folder.iterdir())} {state}"
        if tried not in self._rebuilt:
            done = rebuild_store(self._store)
            if not all(table.is_equal for table in done.tables):
                return False
            self._rebuilt.add(tried)
        return True

    def _look_at_files(self, expected: Expectation, *, is_after: bool) -> dict[str, bool]:
        archive = Archive(self._store)
        verified = verify_archive(archive, indexed_segments(self._store))
        names = {path.name for path in self._store.iterdir()}
        wanted = {
            "archive",
            "inbox",
            "lock",
            SNAPSHOT_FOLDER,
            FILE_NAME,
            seal_of(Path(FILE_NAME)).name,
        }
        wanted |= {"uncompacted"} if expected.name == "forget" else set()
        strange = names - wanted
        found = {
            f"left behind: {sorted(strange)}": bool(strange),
            "a segment is bad": any(one.problem for one in verified),
            "unfinished segments": any(archive.folder.glob("*.new")),
        }
        if expected.name == "forget" and is_after:
            hashes = {entry.sha256 for _, entry in archive.entries() if entry.data is not None}
            with Warehouse.open(self._store, read_only=True) as warehouse:
                gone = warehouse.sql("SELECT sha256 FROM forgotten_dumps")["sha256"].to_pylist()
            snapshots = self._store / SNAPSHOT_FOLDER
            found["not forgotten"] = bool(hashes.intersection(gone)) or any(snapshots.iterdir())
        return found

    def _copy(self) -> None:
        shutil.rmtree(self._store, ignore_errors=True)
        shutil.copytree(self._whole, self._store)

    def _run(self, action: Callable[[], None]) -> None:
        outcome = wait(fork(lambda: self._quietly(action)))
        assert outcome == "done", (self._folder / "output").read_text()

    def _do(self, operation: Operation, point: str) -> None:
        if point:
            die_at(point)
        self._quietly(partial(operation, self._store))

    def _quietly(self, action: Callable[[], None]) -> None:
        output = os.open(self._folder / "output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(output, 1)
        os.dup2(output, 2)
        action()


def _rows(state: State) -> State:
    """The state without archived files, whose rows a forget erases after its commit."""
    return [one for one in state if one["name"] != "archived_files"]


def random_moments(trial: Trial, count: int, random_: random.Random) -> Iterator[tuple[Any, ...]]:
    """Kill each operation in turn after some time: the operation, the moment, the outcome."""
    longest = {one.name: one.seconds for one in trial.expected}
    for number in range(count):
        expected = trial.expected[number % len(trial.expected)]
        seconds = random_.uniform(0, longest[expected.name])
        outcome = trial.kill(expected, seconds=seconds)
        if outcome == "done":
            longest[expected.name] = seconds
        yield expected, f"{seconds:.4f} s", outcome


def every_point(trial: Trial, points: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Kill operations at each named moment, each time that they reach it."""
    for expected in trial.expected:
        for point in points:
            outcome, count = "killed", 0
            while outcome == "killed":
                count += 1
                outcome = trial.kill(expected, point=f"{point}:{count}")
                if outcome != "done" or point == points[-1]:
                    yield expected, f"{point}:{count}", outcome


def torture(
    count: int, *, seed: int, points: Sequence[str] = (), names: Sequence[str] = OPERATIONS
) -> dict[str, Any]:
    """Kill operations so many times at random moments, and each time they reach a point."""
    findings, slowest = Findings(seed), 0.0
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(Path(folder), names)
        kills = [random_moments(trial, count, findings.random), every_point(trial, points)]
        for expected, where, outcome in chain(*kills):
            problem, seconds = trial.check(expected, outcome)
            slowest = max(slowest, seconds)
            name = f"{expected.name}: {outcome}"
            findings.add(name, f"{expected.name}, {where}, {outcome}", problem)
    count = sum(n for name, n in findings.outcomes.items() if name.endswith("killed"))
    return findings.results(kills=count, slowest_ready_seconds=round(slowest, 3))


def run(count: int, seed: int) -> Results:
    """Kill at random moments, and at each named one."""
    return {
        "random_moments": torture(count, seed=seed),
        "named_moments": torture(0, seed=seed, points=MOMENTS),
    }


if __name__ == "__main__":
    sys.exit(run_recorded(__doc__, 600, run))
