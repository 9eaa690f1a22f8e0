"""A store has and answers what its model does, after any steps in any order.

Ten thousand steps with `make test-all`; `make torture` takes a million.
"""

from __future__ import annotations

import pytest

from tests.support.store_machine import StoreMachine
from tests.tools.reliability.model import ROUND, STEPS, try_steps

SEED = 20261126
N_ROUNDS = 10_000 // (ROUND * STEPS)


def test_a_store_is_like_its_model_after_some_steps() -> None:
    try_steps(SEED, n_stores=1, machine=StoreMachine)


@pytest.mark.slow
@pytest.mark.system
@pytest.mark.parametrize("seed", range(SEED, SEED + N_ROUNDS))
def test_a_store_is_like_its_model_after_any_steps(seed: int) -> None:
    try_steps(seed)
