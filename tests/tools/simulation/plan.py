"""The plan of a simulated farm: devices, builds, models and changes.

Pure, and the same for the same size and seed: each purpose has its own stream of random numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests.tools.simulation.changes import Change, change_program, plan_changes
from tests.tools.simulation.devices import SimulatedDevice, plan_devices
from tests.tools.simulation.programs import TemplateProgram, read_program

_TEMPLATES = {"conv": 2.0, "txf": 10.0, "mixed": 20.0}  # with factors for their times
_BACKENDS = ("portable", "xnnpack")
_FIRST_COMMIT = datetime(2026, 9, 7, 17, 30, tzinfo=UTC)
_MISSING_NIGHT_SHARE = 0.02


class FarmSize(NamedTuple):
    """The size of a farm; `dumps` counts dumps per device, build, model and backend."""

    devices: int
    builds: int
    models: int
    dumps: int
    iterations: int


class Stream(IntEnum):
    """Purposes of random numbers; each has its own stream."""

    DEVICES = 0
    BUILDS = 1
    CHANGES = 2
    MISSING_NIGHTS = 3
    MIX = 4
    SESSION = 5
    NIGHT = 6


@dataclass(frozen=True)
class SimulatedBuild:
    """A nightly build."""

    id: str
    commit: str
    committed_at: datetime
    ordinal: int

    def describe(self) -> dict[str, object]:
        """The build's part of a manifest."""
        return {
            "id": self.id,
            "commit": self.commit,
            "branch": "main",
            "committed_at": self.committed_at.isoformat(),
            "ordinal": self.ordinal,
        }


@dataclass(frozen=True)
class Family:
    """A model lowered to a backend, before any change."""

    model: str
    backend: str
    program: TemplateProgram


@dataclass(frozen=True)
class FarmPlan:
    """A farm.

    Missing nights are positions of (device, build) for which nothing was recorded.
    """

    size: FarmSize
    seed: int
    devices: list[SimulatedDevice]
    builds: list[SimulatedBuild]
    families: list[Family]
    changes: list[Change]
    missing_nights: frozenset[tuple[int, int]]

    def draw(self, stream: Stream, *place: int) -> np.random.Generator:
        """The random generator for one purpose and place."""
        return _draw(self.seed, stream, *place)

    def find_changes(self, family: int, build: int, pool: str) -> tuple[Change, ...]:
        """The changes that a family has in a build, on the devices of a pool."""
        return tuple(
            change
            for change in self.changes
            if change.family == family and change.build <= build and change.pool in (None, pool)
        )

    def program(self, family: int, build: int, pool: str) -> TemplateProgram:
        """A family's program in a build, on the devices of a pool."""
        return change_program(self.families[family].program, self.find_changes(family, build, pool))

    @cached_property
    def dump_count(self) -> int:
        """Planned dumps, a few of which are lost."""
        nights = len(self.devices) * len(self.builds) - len(self.missing_nights)
        return nights * len(self.families) * self.size.dumps


def plan_farm(size: FarmSize, seed: int) -> FarmPlan:
    """The farm of a size and seed."""
    devices = plan_devices(size.devices, _draw(seed, Stream.DEVICES))
    families = _plan_families(size.models)
    pools = sorted({device.kind.pool for device in devices if device.kind.clock.is_rate_known})
    changes = plan_changes(
        [family.program for family in families], size.builds, pools, _draw(seed, Stream.CHANGES)
    )
    is_missing = (
        _draw(seed, Stream.MISSING_NIGHTS).random((size.devices, size.builds))
        < _MISSING_NIGHT_SHARE
    )
    missing = frozenset((device, build) for device, build in np.argwhere(is_missing).tolist())
    builds = _plan_builds(size.builds, _draw(seed, Stream.BUILDS))
    return FarmPlan(size, seed, devices, builds, families, changes, missing)


def _draw(seed: int, stream: Stream, *place: int) -> np.random.Generator:
    sequence = np.random.SeedSequence(seed, spawn_key=(stream, *place))
    return np.random.Generator(np.random.PCG64(sequence))


def _plan_builds(count: int, rng: np.random.Generator) -> list[SimulatedBuild]:
    """One build per working day."""
    return [
        SimulatedBuild(
            f"sim-{number + 1:03}",
            rng.bytes(20).hex(),
            _FIRST_COMMIT
            + timedelta(days=number // 5 * 7 + number % 5, seconds=int(rng.integers(10_000))),
            number + 1,
        )
        for number in range(count)
    ]


def _plan_families(model_count: int) -> list[Family]:
    """The models, lowered to both backends; further models are larger variants of the first."""
    families = []
    for number in range(model_count):
        template = list(_TEMPLATES)[number % len(_TEMPLATES)]
        variant = number // len(_TEMPLATES)
        model = f"{template}-{variant + 1}" if variant else template
        scale = _TEMPLATES[template] * (1 + variant / 2)
        families += [
            Family(model, backend, _read_template(template, backend).scale(scale))
            for backend in _BACKENDS
        ]
    return families


@cache
def _read_template(model: str, backend: str) -> TemplateProgram:
    folder = Path(__file__).parent / "templates"
    return read_program((folder / f"{model}-{backend}.etdp").read_bytes())
