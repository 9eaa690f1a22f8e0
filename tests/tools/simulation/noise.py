"""The variation of events' times between dumps and iterations. Pure.

As in real dumps, times are log-normal around the typical time, each dump (process) has its own
level, iterations resemble the one before (AR(1)), the first ones are slow, a hot device slows down,
and some events are interrupted.
"""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from tests.tools.simulation.devices import Noise
from tests.tools.simulation.timeline import Floats, Timeline
from tracehouse.ingest.etdump.arena import Ints

_PERSISTENCE = 0.6  # correlation of an iteration's state with the one before
_HEATING_ITERATIONS = 25.0
_SLOW_PROCESS_SHARE = 0.01  # operators that are slow in a whole process
_SLOW_PROCESS_RATIO = 1.5
_OUTLIER_RATIO = 4.0  # mean time added by an interruption
_DELEGATE_TICK_NS = 1000  # XNNPACK rounds down to whole microseconds


def draw_own_times(
    timeline: Timeline, typical_ns: Floats, noise: Noise, run_count: int, rng: np.random.Generator
) -> Ints:
    """Own times of the events of a dump's runs in whole nanoseconds, one row per run.

    The typical times are on this device with this build, after warm-up.
    """
    shape = (run_count, len(timeline))
    log = rng.standard_normal(shape) * noise.jitter
    log += _draw_process(noise, len(timeline), rng)
    log += _draw_states(noise, run_count, rng)[:, None]
    times = np.exp(log, out=log)
    times *= typical_ns
    times[0] *= timeline.first_ratio
    places = rng.integers(times.size, size=rng.binomial(times.size, noise.outlier_share))
    times.ravel()[places] *= 1 + rng.exponential(_OUTLIER_RATIO, len(places))
    return _round_delegates(timeline, np.rint(times).astype(np.int64))


def _round_delegates(timeline: Timeline, times: Ints) -> Ints:
    """Delegated times rounded down; the remainders are added to the calls around them."""
    for event in np.flatnonzero(timeline.is_delegated).tolist():
        rest = times[:, event] % _DELEGATE_TICK_NS
        times[:, event] -= rest
        times[:, timeline.holder[event]] += rest
    return times


def _draw_process(noise: Noise, event_count: int, rng: np.random.Generator) -> Floats:
    is_slow = rng.random(event_count) < _SLOW_PROCESS_SHARE
    slow: Floats = is_slow * np.log(_SLOW_PROCESS_RATIO)
    return slow + rng.standard_normal(event_count) * noise.process


def _draw_states(noise: Noise, run_count: int, rng: np.random.Generator) -> Floats:
    """State of the device in each iteration."""
    news = rng.standard_normal(run_count) * noise.drift * np.sqrt(1 - _PERSISTENCE**2)
    states = np.array(list(accumulate(news.tolist(), lambda last, new: _PERSISTENCE * last + new)))
    heat = 1 - np.exp(-np.arange(run_count) / _HEATING_ITERATIONS)
    warm: Floats = states + noise.heating * heat
    return warm
