"""What runs of torture found: counted, printed, recorded on request, and the exit status."""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

Results = dict[str, dict[str, Any]]


class Findings:
    """What trials came to.

    Attributes:
        random: Chooses what happens in them, by a seed.
        outcomes: How many trials came to each outcome.
        problems: What was wrong, and in which trial.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 - for choosing moments
        self.outcomes: Counter[str] = Counter()
        self.problems: list[str] = []
        self._seed = seed

    def add(self, outcome: str, where: str, problem: str) -> None:
        """Count a trial; the problem is empty where nothing is wrong."""
        self.outcomes[outcome] += 1
        if problem:
            self.problems.append(f"{where}: {problem}")

    def results(self, **figures: object) -> dict[str, Any]:
        """All that is recorded, further figures first."""
        outcomes = dict(sorted(self.outcomes.items()))
        return {**figures, "seed": self._seed, "outcomes": outcomes, "problems": self.problems}


def run_recorded(doc: str | None, count: int, run: Callable[[int, int], Results]) -> int:
    """Run with a count and a seed of the command line; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--record", type=Path)
    arguments = parser.parse_args()
    results = run(arguments.count, arguments.seed)
    text = json.dumps(results, indent=1) + "\n"
    sys.stdout.write(text)
    if arguments.record:
        arguments.record.write_text(text)
    return int(any(result["problems"] for result in results.values()))
