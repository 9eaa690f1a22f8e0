"""A store does what its model does, whatever comes in whatever order."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.support.store_machine import StoreMachine


def test_a_store_answers_as_its_model_does() -> None:
    run_state_machine_as_test(
        StoreMachine,
        settings=settings(
            max_examples=10,
            stateful_step_count=30,
            derandomize=True,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
