"""Units of a profiler blob's clock, named as ExecuTorch's parser names them. Pure."""

from __future__ import annotations

from enum import StrEnum

Time = int | float


class ProfilerTimeScale(StrEnum):
    """Unit of the blob's clock ticks. Times are given in ms, cycles unchanged."""

    NS = "ns"
    US = "us"
    MS = "ms"
    CYCLES = "cycles"
    TIME_IN_NS = NS  # the parser's names
    TIME_IN_US = US
    TIME_IN_MS = MS
    CPU_CYCLES = CYCLES

    @property
    def target(self) -> str:
        """Unit of the times given."""
        return "cycles" if self is ProfilerTimeScale.CYCLES else "ms"

    def convert(self, ticks: int) -> Time:
        """The ticks in the target unit as a double; unchanged if the units are equal."""
        ticks_per_ms = {ProfilerTimeScale.NS: 10**6, ProfilerTimeScale.US: 10**3}.get(self)
        return ticks / ticks_per_ms if ticks_per_ms else ticks
