"""What detectors make of simulated farms: false alarms where nothing changed, changes found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from tests.tools.benchmarks.record import Figures
from tests.tools.detection.detectors import Detector, count_suspected, group_alerts, operator_name
from tests.tools.detection.farms import (
    NOISES,
    Farm,
    Noise,
    plant_cause,
    plant_changes,
    simulate_farm,
)
from tests.tools.detection.scoring import alarmed_share, find_planted

FALSE = "falsely alarmed, % of series"
RATE = "alarms per 1,000 series-nights"
SIZES = (1.05, 1.10)
BUILDS = (1, 2, 5)
RIGHT = "right build, %"
_LOOK_EVERY = 10  # nights, at what is suspected


PLANTED_NIGHTS = 40
FIRST_BAD = range(16, 34)


class Extent(NamedTuple):
    """How much is tried of each noise.

    Attributes:
        calm: Families in which nothing changes.
        nights: Nights of them.
        changed: Families with a planted change each; as many for every size.
    """

    calm: int
    nights: int
    changed: int


def found_unit(ratio: float, builds: int) -> str:
    """What the share found is called."""
    return f"{_percent(ratio)} within {builds}, %"


def right_unit(ratio: float) -> str:
    """What the share of right builds is called."""
    return f"{_percent(ratio)} {RIGHT}"


def try_noise(
    noise: Noise, detectors: Mapping[str, Detector], extent: Extent, seed: int
) -> Figures:
    """Every detector on the same farms of a noise; by 'noise: detector'."""
    rng = np.random.default_rng([seed, NOISES.index(noise)])
    calm = simulate_farm(noise, families=extent.calm, nights=extent.nights, rng=rng)
    changed = [_change(noise, ratio, extent, rng) for ratio in SIZES]
    figures: Figures = {}
    for name, detector in detectors.items():
        scores = [_score_calm(calm, detector), *(_score(farm, detector) for farm in changed)]
        figures[f"{noise.title}: {name}"] = {
            unit: value for score in scores for unit, value in score.items()
        }
    return figures


def _change(noise: Noise, ratio: float, extent: Extent, rng: np.random.Generator) -> Farm:
    calm = simulate_farm(noise, families=extent.changed, nights=PLANTED_NIGHTS, rng=rng)
    return plant_changes(calm, ratio, nights=FIRST_BAD, rng=rng)


def _score_calm(farm: Farm, detector: Detector) -> dict[str, float]:
    alarms = detector(farm)
    series, nights, _ = farm.values.shape
    return {
        FALSE: 100 * alarmed_share(alarms, series),
        RATE: 1000 * len(alarms) / series / nights,
    }


def _score(farm: Farm, detector: Detector) -> dict[str, float]:
    ratio = farm.planted[0].ratio
    found = find_planted(detector(farm), farm.planted)
    shares = {found_unit(ratio, n): 100 * found.share_within(n) for n in BUILDS}
    if found.right_share is not None:
        shares[right_unit(ratio)] = 100 * found.right_share
    return shares


def count_suspects(noise: Noise, extent: Extent, seed: int) -> float:
    """Suspects of the nightly rule per 1,000 series-nights where nothing changed."""
    rng = np.random.default_rng([seed, NOISES.index(noise)])
    farm = simulate_farm(noise, families=extent.calm, nights=extent.nights, rng=rng)
    heads = range(_LOOK_EVERY, extent.nights, _LOOK_EVERY)
    views = (farm._replace(values=farm.values[:, : head + 1]) for head in heads)
    suspects = sum(map(count_suspected, views))
    return 1000 * suspects / len(farm.values) / len(heads)


def try_one_cause(devices: int, seed: int) -> Figures:
    """One operator slower by 8 % on all devices from one build on: what alerts that makes."""
    rng = np.random.default_rng(seed)
    first_bad, nights, position = 15, 21, 4
    calm = simulate_farm(NOISES[0], families=devices, nights=nights, rng=rng)
    farm = plant_cause(calm, 1.08, position=position, first_bad=first_bad)
    groups = group_alerts(farm)
    right = [group for group in groups if operator_name(position) in group.operators]
    figures = {
        "alert groups": len(groups),
        "with the right first bad build": sum(group.first_bad == first_bad for group in right),
        "devices in the largest": max((len(group.changes) for group in groups), default=0),
    }
    return {f"one cause, {devices} devices": figures}


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.0f} %"
