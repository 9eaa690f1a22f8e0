"""Simulated farms straight as arrays: values of dumps by series and night, and what was planted.

A dump's value is the series' level times the noise of the dump and of the night. Nothing changes
but what was planted, so that every other alarm is a false one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SERIES_PER_FAMILY = 12
DUMPS = 10
DUMP_CV = 0.03
GAP = 0.30  # between the two speeds
_LIKENESS = 0.5  # of a night to the one before, in AR(1)
_CLUSTERING = 6.0  # Beta parameters of a night's share of slow dumps add up to it
_MEDIAN_NS = 1e5


class Noise(NamedTuple):
    """What makes dumps and nights differ; standard deviations are of logarithms.

    Attributes:
        title: Its name in tables.
        freedom: Degrees of freedom of Student's t between dumps; None for normal noise.
        night: Of the nights of a series, each of which resembles the one before.
        own_drift: Of the nights of a series, independent of each other.
        common_drift: Of the nights of a family: all its series alike.
        slow: What is in the slower of two modes now and then: "" for nothing, "operator" for
            an operator in a process, "process", "clustered" for operators whose share of slow
            processes differs from night to night, "device" for a device a whole night.
        state: How far the state of the device moves all operators of a night or dump, at most.
    """

    title: str
    freedom: int | None = None
    night: float = 0.0
    own_drift: float = 0.0
    common_drift: float = 0.0
    slow: str = ""
    state: float = 0.0


NOISES = (
    Noise("normal"),
    Noise("Student t3", freedom=3),
    Noise("AR(1) nights, 1 %", night=0.01),
    Noise("AR(1) nights, 3 %", night=0.03),
    Noise("two-speed operators", slow="operator"),
    Noise("two-speed processes", slow="process"),
    Noise("two-speed, in clusters", slow="clustered"),
    Noise("two-speed devices", slow="device"),
    Noise("drift of devices, 3 %", common_drift=0.03),
    Noise("drift 3 % and 1 % each", common_drift=0.03, own_drift=0.01),
    Noise("busy device, states of 20 %", state=0.20),
)


class PlantedChange(NamedTuple):
    """A change of one series from one night on."""

    series: int
    first_bad: int
    ratio: float


class Farm(NamedTuple):
    """Values of dumps, and the changes in them.

    Attributes:
        values: Nanoseconds; shape (series, nights, dumps).
        family: Number of the family of each series: a model on a device.
        planted: The changes; at most one in a series.
    """

    values: Floats
    family: Ints
    planted: tuple[PlantedChange, ...] = ()


def simulate_farm(noise: Noise, *, families: int, nights: int, rng: np.random.Generator) -> Farm:
    """A farm in which nothing changes."""
    shape = families, SERIES_PER_FAMILY, nights, DUMPS
    logs = _draw_dumps(noise, shape, rng) + _draw_slow(noise, shape, rng)
    logs += _draw_nights(noise, shape[:3], rng)[..., None]
    logs += noise.common_drift * rng.standard_normal((families, 1, nights, 1))
    for states in ((families, 1, nights, 1), (families, 1, nights, DUMPS)):
        logs += rng.uniform(-noise.state, noise.state, states)
    level = _MEDIAN_NS * rng.lognormal(0.0, 1.0, (families, SERIES_PER_FAMILY, 1, 1))
    values = (level * np.exp(logs)).reshape(-1, nights, DUMPS)
    return Farm(values, np.repeat(np.arange(families), SERIES_PER_FAMILY))


def plant_changes(farm: Farm, ratio: float, *, nights: range, rng: np.random.Generator) -> Farm:
    """The farm with one series of each family changed from one of the `nights` on."""
    values = farm.values.copy()
    planted = []
    for family in np.unique(farm.family).tolist():
        series = int(rng.choice(np.flatnonzero(farm.family == family)))
        first_bad = int(rng.integers(nights.start, nights.stop))
        values[series, first_bad:] *= ratio
        planted.append(PlantedChange(series, first_bad, ratio))
    return Farm(values, farm.family, tuple(planted))


def plant_cause(farm: Farm, ratio: float, *, position: int, first_bad: int) -> Farm:
    """The farm with the series at the same position of every family changed from one night on."""
    values = farm.values.copy()
    series = np.arange(position, len(values), SERIES_PER_FAMILY)
    values[series, first_bad:] *= ratio
    planted = (PlantedChange(one, first_bad, ratio) for one in series.tolist())
    return Farm(values, farm.family, tuple(planted))


def _draw_dumps(noise: Noise, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    if noise.freedom is None:
        return DUMP_CV * rng.standard_normal(shape)
    deviation = np.sqrt(noise.freedom / (noise.freedom - 2))
    drawn: Floats = DUMP_CV / deviation * rng.standard_t(noise.freedom, shape)
    return drawn


def _draw_slow(noise: Noise, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """What the slower mode adds; each series or family has a share of its own."""
    families, series, nights, dumps = shape
    own = rng.uniform(0.1, 0.6, (families, series, 1, 1))
    match noise.slow:
        case "operator":
            is_slow = rng.random(shape) < own
        case "process":
            is_slow = rng.random((families, 1, nights, dumps)) < own[:, :1]
        case "device":
            is_slow = rng.random((families, 1, nights, 1)) < own[:, :1]
        case "clustered":
            share = np.broadcast_to(own, (families, series, nights, 1)) * _CLUSTERING
            is_slow = rng.random(shape) < rng.beta(share, _CLUSTERING - share)
        case _:
            is_slow = np.zeros(1, bool)
    return np.log1p(GAP) * is_slow


def _draw_nights(noise: Noise, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """The level of each night: AR(1) and what is its own."""
    drawn = noise.night * rng.standard_normal(shape)
    for night in range(1, shape[2]):
        new = np.sqrt(1 - _LIKENESS**2) * drawn[..., night]
        drawn[..., night] = _LIKENESS * drawn[..., night - 1] + new
    return drawn + noise.own_drift * rng.standard_normal(shape)
