"""Try a store beside its model, in random steps: `make torture`.

Hypothesis draws which operations a store has at all, because some faults show only where no other
operation undoes them. Then it chooses the steps, and shrinks those that lead to a difference
between the store and the model to the fewest. What a store and its model are is in
tests/support/store_model.py.
"""

from __future__ import annotations

import sys
import traceback
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, Phase, settings
from hypothesis import seed as seeded
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from tests.support.store_intake import IntakeMachine
from tests.support.store_machine import StoreMachine
from tests.support.store_template import copy_template
from tests.tools.reliability.findings import Findings, Results, run_recorded

STEPS = 200  # on a store, at most
ROUND = 10  # stores with one seed
SETTINGS = settings(
    max_examples=ROUND,
    stateful_step_count=STEPS,
    deadline=None,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)


def try_steps(
    seed: int, *, n_stores: int = ROUND, machine: type[RuleBasedStateMachine] = IntakeMachine
) -> None:
    """Take steps on some stores, which the seed chooses; a difference is raised."""
    machine = seeded(seed)(type(machine.__name__, (machine,), {}))
    with patch("tracehouse.warehouse.engine.writer._build", copy_template):
        run_state_machine_as_test(machine, settings=settings(SETTINGS, max_examples=n_stores))


def torture(count: int, *, seed: int) -> dict[str, Any]:
    """Take so many steps, and print progress; the seed of a difference too."""
    findings, number, first = Findings(seed), seed, StoreMachine.n_steps
    while (done := StoreMachine.n_steps - first) < count:
        problem = ""
        try:
            try_steps(number)
        except Exception as error:
            problem = "".join(traceback.format_exception(error))
        findings.add("differs" if problem else "same", f"seed {number}", problem)
        done = StoreMachine.n_steps - first
        sys.stderr.write(f"{done:,} steps, seed {number}: {problem or 'no difference'}\n")
        number += 1
    return findings.results(steps=done)


def run(count: int, seed: int) -> Results:
    """Take so many steps."""
    return {"model": torture(count, seed=seed)}


if __name__ == "__main__":
    sys.exit(run_recorded(__doc__, 1_000_000, run))
