"""Random dumps of one program on one device and build. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.tools.simulation.devices import SimulatedDevice
from tests.tools.simulation.dump_template import DumpTemplate, Ticks, repeat_runs
from tests.tools.simulation.noise import draw_own_times
from tests.tools.simulation.programs import TemplateProgram
from tests.tools.simulation.timeline import Floats, Timeline
from tracehouse.ingest.etdump.arena import Ints

_MAX_UPTIME_NS = 3_600 * 10**9  # of a device's runtime when a dump begins
_PAUSE_NS = 300_000.0  # mean time between iterations
_FAILED_RUN_SHARE = 0.01
_TRUNCATED_SHARE = 0.004


@dataclass(frozen=True)
class Recording:
    """A dump and its defects.

    Attributes:
        event_count: Events in the dump, 0 if it cannot be read.
        failed_run: Index of a failing run, and the number of events it logs.
        is_truncated: Whether the file is truncated.
    """

    data: bytes
    event_count: int
    failed_run: tuple[int, int] | None
    is_truncated: bool


class ProgramRecorder:
    """Records dumps of a program; computes the data that they share only once."""

    def __init__(self, program: TemplateProgram, iterations: int) -> None:
        self.load = Timeline.of(program.list_load_events())
        self.iteration = Timeline.of(program.list_events())
        self.template = DumpTemplate(repeat_runs(program.write(), iterations, first_run=1))
        self.iterations = iterations
        self.origin_count = 1 + max(self.load.origin.max(), self.iteration.origin.max())

    @property
    def event_count(self) -> int:
        """Events of a dump in which nothing fails."""
        return len(self.load) + self.iterations * len(self.iteration)

    def lay_out(
        self, device: SimulatedDevice, factors: Floats, rng: np.random.Generator
    ) -> tuple[Ticks, Ticks]:
        """Starts and ends of a dump's events in ticks of the device's clock, in file order."""
        instant = int(rng.integers(_MAX_UPTIME_NS))
        starts: list[Ints] = []
        ends: list[Ints] = []
        for timeline, run_count in ((self.load, 1), (self.iteration, self.iterations)):
            typical = timeline.own_ns * factors[timeline.origin]
            own = draw_own_times(timeline, typical, device.kind.noise, run_count, rng)
            pause = rng.exponential(_PAUSE_NS, run_count).astype(np.int64)
            start, end, instant = timeline.lay_out(own, pause, instant)
            starts.append(start.ravel())
            ends.append(end.ravel())
        clock = device.kind.clock
        return clock.read(np.concatenate(starts)), clock.read(np.concatenate(ends))

    def record(
        self, device: SimulatedDevice, factors: Floats, rng: np.random.Generator
    ) -> Recording:
        """A dump; a few dumps have a failed run or are truncated."""
        starts, ends = self.lay_out(device, factors, rng)
        fate = rng.random()
        if fate < _FAILED_RUN_SHARE:
            run = int(rng.integers(1, self.iterations + 1))
            count = int(rng.integers(1, len(self.iteration)))
            data = self.template.with_times(starts, ends, event_counts={run: count})
            lost = len(self.iteration) - count
            return Recording(data, self.event_count - lost, (run, count), is_truncated=False)
        data = self.template.with_times(starts, ends)
        if fate < _FAILED_RUN_SHARE + _TRUNCATED_SHARE:
            cut = data[: int(rng.integers(16, len(data)))]
            return Recording(cut, 0, None, is_truncated=True)
        return Recording(data, self.event_count, None, is_truncated=False)
