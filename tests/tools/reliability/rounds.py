"""Rounds of killing that stores go through, one store after the other."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from tests.tools.reliability.findings import Findings
from tests.tools.reliability.processes import BAD_ENDS

ROUNDS = 20  # of a store, before another takes its place


class Killed(Protocol):
    """A store that rounds of killing go through."""

    def kill_round(self, random_: random.Random, point: str = "") -> str:
        """Kill a process, where `point` says or at some moment; what became of the process."""

    def check_round(self) -> str:
        """What is wrong with the store after a round."""

    def check_end(self) -> str:
        """What is wrong with the store after its last round."""


_Trial = TypeVar("_Trial", bound=Killed)


def kill_stores(
    make: Callable[[Path], _Trial], count: int, *, seed: int, points: Sequence[str] = ()
) -> tuple[list[_Trial], dict[str, Any]]:
    """Kill that many times: at random moments, or in turn at each of the points.

    A store that something is wrong with is copied to build/reliability.

    Args:
        make: Begins with a store at a path where there is none yet.
        count: Rounds, of all stores together.
        seed: Chooses the moments.
        points: Failpoints.

    Returns:
        The stores, and what is recorded.
    """
    findings, trials = Findings(seed), []
    for first in range(0, count, ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            trial = make(Path(folder, "store"))
            trials.append(trial)
            last = min(first + ROUNDS, count) - 1
            for number in range(first, last + 1):
                point = points[number % len(points)] if points else ""
                outcome = trial.kill_round(findings.random, point)
                found = [outcome] if outcome in BAD_ENDS else []
                found += [trial.check_round(), trial.check_end() if number == last else ""]
                problem = " ".join(filter(None, found))
                name = f"{point}: {outcome}" if point else outcome
                findings.add(name, f"round {number} {point}".rstrip(), problem)
                if problem:
                    kept = Path("build", "reliability", str(number))
                    shutil.copytree(folder, kept, dirs_exist_ok=True)
    return trials, findings.results(kills=count)
