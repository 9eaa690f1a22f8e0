"""Rounds of killing that stores go through, one store after the other."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

ROUNDS = 20  # of a store, before another takes its place
_BAD = frozenset({"hung", "broken"})


class Killed(Protocol):
    """A store that rounds of killing go through."""

    def kill_round(self, random_: random.Random, point: str = "") -> str:
        """Kill somebody, where `point` says or at some moment; what became of who was to die."""

    def check_round(self) -> str:
        """What is wrong with the store after a round."""

    def check_end(self) -> str:
        """What is wrong with it after its last round."""


_Trial = TypeVar("_Trial", bound=Killed)


class Kills(NamedTuple, Generic[_Trial]):
    """What came of rounds of killing: the stores, and what is put on record."""

    trials: list[_Trial]
    results: dict[str, Any]


def kill_stores(
    make: Callable[[Path], _Trial], count: int, *, seed: int, points: Sequence[str] = ()
) -> Kills[_Trial]:
    """Kill that many times: at random moments, or in turn at each of the points.

    A store that something is wrong with is copied to where one can look at it.

    Args:
        make: Begins with a store at a path where there is none yet.
        count: Rounds, of all stores together.
        seed: Chooses the moments.
        points: Failpoints.
    """
    random_ = random.Random(seed)  # noqa: S311 - for choosing moments
    outcomes: Counter[str] = Counter()
    problems: list[str] = []
    trials = []
    for first in range(0, count, ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            trial = make(Path(folder, "store"))
            trials.append(trial)
            last = min(first + ROUNDS, count) - 1
            for number in range(first, last + 1):
                point = points[number % len(points)] if points else ""
                outcome = trial.kill_round(random_, point)
                outcomes[f"{point}: {outcome}" if point else outcome] += 1
                found = [outcome] if outcome in _BAD else []
                found += [trial.check_round(), trial.check_end() if number == last else ""]
                if any(found):
                    what = " ".join(filter(None, [point, *found]))
                    problems.append(f"round {number}: {what}")
                    kept = Path("build", "reliability", str(number))
                    shutil.copytree(folder, kept, dirs_exist_ok=True)
    results = {"kills": count, "seed": seed, "outcomes": dict(sorted(outcomes.items()))}
    return Kills(trials, results | {"problems": problems})
