"""Rounds of killing that stores go through, one store after the other."""

from __future__ import annotations

import random
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tests.support.forks import BAD_ENDS
from tests.tools.reliability.findings import Findings

ROUNDS = 20  # of a store, before another takes its place


class KillTrial(ABC):
    """A store for rounds of killing."""

    @abstractmethod
    def kill_round(self, random_: random.Random, point: str = "") -> str:
        """Kill a process at a named moment, or at a random one; the outcome of the process."""

    def check_round(self) -> str:
        """Problems of the store after a round; "" without any."""
        return ""

    def check_end(self) -> str:
        """Problems of the store after its last round; "" without any."""
        return ""


_Trial = TypeVar("_Trial", bound=KillTrial)


def kill_stores(
    make: Callable[[Path], _Trial], count: int, *, seed: int, points: Sequence[str] = ()
) -> tuple[list[_Trial], dict[str, Any]]:
    """Kill that many times: at random moments, or in turn at each of the points.

    A store that something is wrong with is copied to build/reliability.

    Args:
        make: Begins with a store at a path where there is none yet.
        count: Rounds, of all stores together.
        seed: Chooses the moments.
        points: Names of moments.

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
