"""Simulated devices: their speed, their noise and their clocks. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tracehouse.ingest.etdump.arena import Ints

_NS_PER_TICK = {"ns": 1, "us": 1000}


@dataclass(frozen=True)
class TickClock:
    """The clock of a device's runtime.

    Attributes:
        unit: Unit in the manifest.
        ticks_per_second: Rate of the clock, if it counts cycles.
        is_rate_known: Whether the manifest states the rate.
        bits: Width of the counter, which wraps.
    """

    unit: str = "ns"
    ticks_per_second: int | None = None
    is_rate_known: bool = True
    bits: int = 64

    def read(self, instant_ns: Ints) -> NDArray[np.uint64]:
        """Readings at these instants."""
        rate = self._ticks_per_ns
        ticks = instant_ns * rate.numerator // rate.denominator
        return ticks.astype(np.uint64) & np.uint64(2**self.bits - 1)

    def describe(self) -> dict[str, object]:
        """The clock's part of a manifest."""
        if self.ticks_per_second is None or not self.is_rate_known:
            return {"unit": self.unit}
        return {"unit": self.unit, "ticks_per_second": self.ticks_per_second}

    @property
    def _ticks_per_ns(self) -> Fraction:
        if self.ticks_per_second is None:
            return Fraction(1, _NS_PER_TICK[self.unit])
        return Fraction(self.ticks_per_second, 10**9)


@dataclass(frozen=True)
class Noise:
    """A device's noise: standard deviations of the logarithm of times, and shares.

    Attributes:
        jitter: Between events.
        drift: Between iterations, each of which resembles the one before.
        process: Between processes, that is, between dumps.
        session: Between builds.
        heating: Slowdown of an iteration once the device is hot.
        outlier_share: Share of events that are interrupted.
    """

    jitter: float = 0.015
    drift: float = 0.01
    process: float = 0.008
    session: float = 0.003
    heating: float = 0.0
    outlier_share: float = 0.002


@dataclass(frozen=True)
class Kind:
    """A kind of device, which forms a pool.

    Its slowness is relative to the times of the templates.
    """

    name: str
    os: tuple[str, str] | None
    arch: str
    slowness: float
    clock: TickClock
    noise: Noise

    @property
    def pool(self) -> str:
        """Name of the pool."""
        return f"sim-{self.name}{'es' if self.name.endswith('ch') else 's'}"


KINDS = (
    Kind("phone", ("Android", "16"), "arm64", 1.0, TickClock(), Noise(heating=0.06)),
    Kind(
        "board", ("Linux", "6.12"), "arm64", 2.5, TickClock("cycles", 24_000_000),
        Noise(jitter=0.008, outlier_share=0.001),
    ),
    Kind(
        "tablet", ("Android", "14"), "arm64", 1.8, TickClock("us"),
        Noise(jitter=0.02, heating=0.03),
    ),
    Kind(
        "dsp", None, "dsp", 1.4, TickClock("cycles", 600_000_000, bits=32),
        Noise(jitter=0.006, drift=0.004, process=0.006, session=0.001, outlier_share=0.0),
    ),
    Kind(
        "watch", ("Android", "15"), "arm64", 4.0, TickClock(),
        Noise(jitter=0.025, process=0.012, heating=0.12, outlier_share=0.004),
    ),
    Kind(
        "prototype", None, "riscv64", 6.0,
        TickClock("cycles", 32_768_000, is_rate_known=False), Noise(),
    ),
)  # fmt: skip


@dataclass(frozen=True)
class SimulatedDevice:
    """A device of a kind, with its own slowness."""

    name: str
    kind: Kind
    slowness: float

    def describe(self) -> dict[str, str]:
        """The device's part of a manifest."""
        os, version = self.kind.os or (None, None)
        stated = {
            "name": self.name,
            "pool": self.kind.pool,
            "os": os,
            "os_version": version,
            "arch": self.kind.arch,
            "soc": f"simulated {self.kind.name}",
        }
        return {key: text for key, text in stated.items() if text is not None}


def plan_devices(count: int, rng: np.random.Generator) -> list[SimulatedDevice]:
    """Devices of all kinds in turn."""
    slowness = rng.lognormal(0.0, 0.1, count).tolist()
    kinds = [KINDS[number % len(KINDS)] for number in range(count)]
    return [
        SimulatedDevice(f"sim-{kind.name}-{number // len(KINDS) + 1:02}", kind, kind.slowness * own)
        for number, (kind, own) in enumerate(zip(kinds, slowness, strict=True))
    ]
