"""Let disks fail under commands again and again: `make torture`, and a sample in the tests.

A command works on a store with a history while one operation on its files fails, or all from some
moment on. The command must say so in one line, or do its work nevertheless. The store must be as
before the command or as after it, and without the fault the command must work. After a failed
sync the power fails, too: the store must survive that everything written before that sync is gone.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.disk_shim import COMPILER, Fault, FaultControl, build_shim, preloaded
from tests.support.documents import ROOT
from tests.support.forks import fork, wait
from tests.tools.reliability.fault_operations import (
    OPERATIONS,
    Operation,
    fill_inbox,
    line,
    make_disk,
)
from tests.tools.reliability.fault_table import (
    COMBINATIONS,
    FILES,
    KINDS,
    NUMBERS,
    Combination,
    judge_message,
)
from tests.tools.reliability.findings import Findings, Results, run_recorded
from tests.tools.reliability.power_disk import Disk, read_log
from tests.tools.reliability.power_life import recover
from tests.tools.reliability.upkeep import select_state
from tracehouse import Warehouse
from tracehouse.warehouse.errors import StoreError, WarehouseError

MODULE = "tests.tools.reliability.disk_faults"
_STATE = select_state()
_VERIFY = line("lake", "verify", "DISK/lake")


State = list[Any]


class Expectation(NamedTuple):
    """The rows of a store before and after a command, and both when its inbox is drained."""

    before: State
    after: State
    drained_before: State
    drained_after: State


class Trial:
    """A disk with a store; commands work on copies of it while it fails."""

    def __init__(self, folder: Path, control: FaultControl, log: Path) -> None:
        """Make the store; the library logs what is done to `folder` / "disk"."""
        self._folder, self._control, self._log = folder, control, log
        self._whole, self._disk = folder / "whole", folder / "disk"
        self._store = self._disk / "store"
        self._whole.mkdir()
        make_disk(self._whole, folder / "files")
        self._expected: dict[str, Expectation] = {}

    def run(
        self, combination: Combination, numbers: Sequence[int]
    ) -> Iterator[tuple[str, str, str]]:
        """The outcome, place and problem of a trial for each number of the operation that fails."""
        times, error = KINDS[combination.kind]
        expected = self._expect(combination.operation)
        for number in numbers:
            pattern = FILES[combination.files]
            fault = Fault(combination.kind, pattern, number, times, error)
            status, text, failed = self._fail(combination.operation, fault)
            if not failed:
                return
            outcome = "done" if status == "0" else "refused"
            problem = self._judge(combination, expected, status, text)
            yield outcome, f"{' / '.join(combination)} {number}: {text.strip()[:300]}", problem

    def _expect(self, name: str) -> Expectation:
        if name not in self._expected:
            states = []
            (self._folder / "modules").unlink(missing_ok=True)
            for names in ((), (name,)):
                self._copy(name)
                for one in names:
                    assert self._act(OPERATIONS[one]) == "0", (self._folder / "output").read_text()
                states.append((self._state(), self._drained(self._store)))
            (before, drained_before), (after, drained_after) = states
            self._expected[name] = Expectation(before, after, drained_before, drained_after)
            self._import_modules()
        return self._expected[name]

    def _import_modules(self) -> None:
        """Import what the last command did, so that the next one need not."""
        for name in (self._folder / "modules").read_text().splitlines():
            with suppress(ImportError):
                import_module(name)

    def _fail(self, name: str, fault: Fault) -> tuple[str, str, int]:
        """The exit status of a command, its messages, and how many operations failed."""
        self._copy(name)
        self._model = Disk.holding(self._disk)
        os.truncate(self._log, 0)
        self._control.begin(fault)
        status = self._act(OPERATIONS[name])
        _, failed = self._control.end()
        return status, (self._folder / "output").read_text(), failed

    def _judge(
        self, combination: Combination, expected: Expectation, status: str, text: str
    ) -> str:
        """What is wrong after a command whose disk failed; "" if nothing is."""
        is_done = status == "0"
        problem = "" if is_done else judge_message(status, text, self._store)
        try:
            problem = problem or self._judge_power(expected, is_done=is_done)
            state = self._state()
            if state != expected.after and (is_done or state != expected.before):
                return problem or "another state"
            if state != expected.after or combination.files == "lake":
                again = self._act(OPERATIONS[combination.operation])
                if again != "0":
                    return f"{problem} again: {(self._folder / 'output').read_text()}"
            if self._state() != expected.after:
                return f"{problem} another state when it is done again"
            problem = problem or self._judge_power(expected, is_done=True)
        except (WarehouseError, AssertionError) as error:
            return f"{problem} not ready: {error}"
        if combination.files == "lake" and self._act(_VERIFY) != "0":
            return f"{problem} the lake is damaged"
        return problem

    def _judge_power(self, expected: Expectation, *, is_done: bool) -> str:
        """What is wrong where the power fails now, and all is lost that is not safe."""
        for one in read_log(self._log):
            self._model.do(one)
        os.truncate(self._log, 0)
        if not self._model.has_failed:
            return ""
        left = self._folder / "left"
        self._model.write_safe(left)
        try:
            state = self._drained(left / "store")
        except WarehouseError as error:
            return f"not ready after the power failed: {error}"
        finally:
            shutil.rmtree(left)
        wanted = [expected.drained_after] + [expected.drained_before] * (not is_done)
        return "" if state in wanted else "another state after the power failed"

    def _state(self) -> State:
        """The rows of the store, whose inbox stays."""
        return self._read(self._store, lambda: None)

    def _drained(self, store: Path) -> State:
        """The rows of a store that is opened or rebuilt, and drained."""
        return self._read(store, lambda: recover(store, create=False))

    def _read(self, store: Path, prepare: Callable[[], object]) -> State:
        """The rows of a store, read in another process: threads of DuckDB must not be forked.

        Raises:
            StoreError: The store cannot be opened.
        """

        def read() -> None:
            found: State | str
            try:
                prepare()
                with Warehouse.open_to_write(store) as warehouse:
                    found = warehouse.writing.execute(_STATE).fetchall()
            except WarehouseError as error:
                found = str(error)
            (self._folder / "state").write_text(json.dumps(found))

        outcome = wait(fork(read))
        if outcome != "done":
            return [outcome]
        found: State | str = json.loads((self._folder / "state").read_text())
        if isinstance(found, str):
            raise StoreError(str(store), found)
        return found

    def _copy(self, name: str) -> None:
        for path in self._disk.iterdir():
            shutil.rmtree(path)
        for path in self._whole.iterdir():
            shutil.copytree(path, self._disk / path.name)
        if name == "drain":
            fill_inbox(self._disk)

    def _act(self, operation: Operation) -> str:
        """The exit status of a command, or how its process ended."""
        return _status(fork(partial(self._quietly, operation)))

    def _quietly(self, operation: Operation) -> None:
        output = os.open(self._folder / "output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(output, 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        status = operation(self._disk, self._folder / "files")
        if not (self._folder / "modules").exists():
            (self._folder / "modules").write_text("\n".join(sys.modules))
        sys.stderr.flush()
        os._exit(status)


def _status(child: int) -> str:
    _, status = os.waitpid(child, 0)
    return str(os.waitstatus_to_exitcode(status))


def run_trials(
    folder: Path, combinations: Sequence[Combination], seed: int, numbers: Sequence[int]
) -> dict[str, Any]:
    """Let the disk fail in this process, into which the library is preloaded."""
    findings = Findings(seed)
    control = FaultControl(Path(os.environ["DISK_FAULT"]))
    trial = Trial(folder, control, Path(os.environ["DISK_LOG"]))
    for combination in combinations:
        for outcome, where, problem in trial.run(combination, numbers):
            findings.add(f"{combination.kind}: {outcome}", where, problem)
    return findings.results(faults=findings.outcomes.total())


def torture(
    combinations: Sequence[Combination], seed: int = 0, *, numbers: Sequence[int] = NUMBERS
) -> dict[str, Any]:
    """Let the disk fail in each of these combinations, from each of these operations on."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "disk").mkdir()
        control = FaultControl(folder / "fault")
        shim = preloaded(build_shim(folder), root=folder / "disk", log=folder / "log")
        (folder / "trials").write_text(json.dumps([combinations, numbers]))
        command = (sys.executable, "-m", MODULE, "trials", folder, str(seed))
        environment = os.environ | shim | control.environment
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        subprocess.run(command, env=environment, cwd=ROOT, check=True)
        results: dict[str, Any] = json.loads((folder / "results").read_text())
        return results


def run(count: int, seed: int) -> Results:
    """Let the disk fail in so many combinations, or in all."""
    if not shutil.which(COMPILER):
        sys.stderr.write(f"note: there is no C compiler ({COMPILER}) here, so no disk fails\n")
        return {}
    chosen = Findings(seed).random.sample(COMBINATIONS, min(count, len(COMBINATIONS)))
    return {"disk_faults": torture(sorted(chosen), seed)}


if __name__ == "__main__":
    if sys.argv[1:2] == ["trials"]:
        place = Path(sys.argv[2])
        listed, chosen = json.loads((place / "trials").read_text())
        found = run_trials(place, [Combination(*one) for one in listed], int(sys.argv[3]), chosen)
        (place / "results").write_text(json.dumps(found))
        sys.exit()
    sys.exit(run_recorded(__doc__, len(COMBINATIONS), run))
