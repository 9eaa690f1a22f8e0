"""What pairs of dumps are worth: `python -m tests.tools.detection.paired_nights`.

Nights that resemble each other, AR(1) with 3 %, each operator by itself; the device's state may
move from dump to dump, too. Every dump is recorded alone, with a reference build in its session, or
in a pair with a dump of it. And p of pairs of builds without a change, by what the noise is like.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.support.fleet_rows import fleet_row, make_fleet
from tests.tools.benchmarks.record import Figures
from tests.tools.detection.detectors import FLOOR_NS, Alarm, build_name
from tests.tools.detection.farms import Farm, Noise, plant_changes, simulate_farm
from tests.tools.detection.scoring import alarmed_share, find_planted
from tests.tools.detection.trials import (
    BUILDS,
    FALSE,
    FIRST_BAD,
    PLANTED_NIGHTS,
    Extent,
    found_unit,
)
from tracehouse.warehouse.regressions.replay import replay
from tracehouse.warehouse.statistics.paired_samples import compare_pairs

EXTENT = Extent(calm=50, nights=90, changed=150)
STATES = (0.0, 0.1)
RATIO = 1.05
LEVEL = 0.001
_OWN = Noise("dumps alone")
_NIGHT, _LIKENESS = 0.03, 0.5
_SEED = 1

Floats = NDArray[np.float64]


class PairedFarm(NamedTuple):
    """A farm, and the values of a pinned build's dumps, each recorded in a pair with one of it."""

    farm: Farm
    pinned: Floats


def simulate_pairs(
    state: float, *, families: int, nights: int, rng: np.random.Generator
) -> PairedFarm:
    """A farm in which nothing changes; `state` is how far the device moves a pair, at most."""
    own, pinned = (simulate_farm(_OWN, families=families, nights=nights, rng=rng) for _ in range(2))
    count, _, dumps = own.values.shape
    moved = _draw_nights((count, nights), rng)[..., None]
    moved = np.exp(moved + rng.uniform(-state, state, (count, nights, dumps)))
    return PairedFarm(own._replace(values=own.values * moved), pinned.values * moved)


def _draw_nights(shape: tuple[int, int], rng: np.random.Generator) -> Floats:
    drawn: Floats = _NIGHT * rng.standard_normal(shape)
    for night in range(1, shape[1]):
        new = np.sqrt(1 - _LIKENESS**2) * drawn[:, night]
        drawn[:, night] = _LIKENESS * drawn[:, night - 1] + new
    return drawn


def try_pairs(extent: Extent = EXTENT) -> Figures:
    """The nightly rule on dumps alone, beside a reference build, and in pairs with one."""
    figures: Figures = {}
    for state in STATES:
        rng = np.random.default_rng(_SEED)
        calm = simulate_pairs(state, families=extent.calm, nights=extent.nights, rng=rng)
        changed = simulate_pairs(state, families=extent.changed, nights=PLANTED_NIGHTS, rng=rng)
        farm = plant_changes(changed.farm, RATIO, nights=FIRST_BAD, rng=rng)
        for how in ("alone", "with a reference", "in pairs"):
            false = alarmed_share(_detect(calm, how), len(calm.farm.values))
            found = find_planted(_detect(changed._replace(farm=farm), how), farm.planted)
            shares = {found_unit(RATIO, n): 100 * found.share_within(n) for n in BUILDS}
            title = f"AR(1) nights, 3 %, states of {100 * state:.0f} % by pair: dumps {how}"
            figures[title] = {FALSE: 100 * false, **shares}
    return figures


def _detect(pairs: PairedFarm, how: str) -> list[Alarm]:
    nights = pairs.farm.values.shape[1]
    fleet = make_fleet(_list_rows(pairs, how), build_name(nights - 1))
    places = [int(name) for name in fleet.keys["event_name"].to_pylist()]
    return [
        Alarm(places[change.series], change.confirmed, change.first_bad, change.direction)
        for change in replay(fleet.history).changes
        if change.confirmed is not None
    ]


def _list_rows(pairs: PairedFarm, how: str) -> Iterator[dict[str, Any]]:
    count, nights, dumps = pairs.farm.values.shape
    own, pinned = np.log(pairs.farm.values).tolist(), np.log(pairs.pinned).tolist()
    numbers = {"pairs": [str(n) if how == "in pairs" else "" for n in range(dumps)]}
    for series in range(count):
        names = {"device": f"d{pairs.farm.family[series]:03}", "event_name": f"{series:05}"}
        for night in range(nights):
            known = {**names, **numbers, "floor": FLOOR_NS, "session": f"s{night}"}
            back = nights - 1 - night
            yield fleet_row(build_name(night), back, own[series][night], **known)
            if how != "alone":
                yield fleet_row("pinned", None, pinned[series][night], **known)


def try_levels(count: int = 200_000) -> Figures:
    """How often p of pairs of builds without a change is at most 0.001, in 1,000."""
    rng = np.random.default_rng(_SEED)
    noises: dict[str, Callable[[tuple[int, ...]], Floats]] = {
        "normal": rng.standard_normal,
        "Laplace": lambda shape: rng.laplace(size=shape),
        "Student t3": lambda shape: rng.standard_t(3, shape),
        "uniform": lambda shape: rng.uniform(-1, 1, shape),
        "two-speed": lambda shape: rng.integers(0, 2, shape) + 0.05 * rng.standard_normal(shape),
    }
    figures: Figures = {}
    for name, draw in noises.items():
        by_pairs = {}
        for pairs in (8, 10, 15, 30):
            base, head = (0.02 * draw((count, pairs)) for _ in range(2))
            by_pairs[f"{pairs} pairs"] = 1000 * float((compare_pairs(base, head).p <= LEVEL).mean())
        figures[f"p at most {LEVEL} without a change, in 1,000: {name}"] = by_pairs
    return figures


def main() -> None:
    """Print all figures."""
    for what, by_unit in (try_levels() | try_pairs()).items():
        print(what, *(f"{unit}: {value:.2f}" for unit, value in by_unit.items()), sep="\n    ")


if __name__ == "__main__":
    main()
