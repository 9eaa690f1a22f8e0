from __future__ import annotations

import pytest

from tests.support.traced_farm import Step, traced_dump
from tracehouse.queries.event_blocks.build import decode_tables
from tracehouse.queries.event_blocks.scales import coarse_clock_note
from tracehouse.queries.event_blocks.time_scales import TimeScale

STEPS = [Step(f"native_call_{name}.out", 900_000 * n) for n, name in enumerate("abcdef", 1)]


def note(step_ns: float, tick: TimeScale = TimeScale.NS) -> str | None:
    return coarse_clock_note(decode_tables(traced_dump(STEPS, step_ns=step_ns), "dump"), tick)


def test_a_clock_step_of_a_microsecond_or_more_is_noted() -> None:
    text = "the clock counts ns, but steps in 100 us: times are known to a step only"
    assert note(100_000) == text


@pytest.mark.parametrize("step_ns", [1, 1e9 / 24e6, 100])
def test_a_clock_step_below_a_microsecond_is_not_noted(step_ns: float) -> None:
    assert note(step_ns) is None


def test_ticks_that_are_as_long_as_the_steps_are_no_surprise() -> None:
    assert note(1, TimeScale.US) is None
    assert note(1_000, TimeScale.CYCLES) is None
