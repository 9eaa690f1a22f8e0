"""What pools of devices show: a slowdown common to them, and nothing where nothing changed.

Also of which build a device is told, if the halves of its pool get slower at different builds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.support.fleet_rows import fleet_row, make_fleet
from tests.tools.benchmarks.record import Figures
from tests.tools.detection.detectors import FLOOR_NS, build_name, operator_name
from tests.tools.detection.farms import NOISES, SERIES_PER_FAMILY, Farm, Noise, simulate_farm
from tracehouse.warehouse.regressions.fleet import Fleet
from tracehouse.warehouse.regressions.parts import spread_to_devices
from tracehouse.warehouse.regressions.replay import replay

DEVICES = 12
POOLS = 10
NIGHTS = 90
RATIO = 1.04
POOL_FALSE = "series of pools falsely alarmed, %"
ELSEWHERE = "halves change apart: devices with a wrong build by their pool, %"
_BOARD = "board-"
_POSITION = 4
_FIRST_BAD = 24
_WITHIN = (2, 5)


def try_pools(noise: Noise, seed: int, *, pools: int = POOLS, nights: int = NIGHTS) -> Figures:
    """Pools in which nothing changes, and pools in which an operator gets slower on all devices."""
    rng = np.random.default_rng([seed, NOISES.index(noise)])
    families = pools * DEVICES
    calm = lay_out_pools(simulate_farm(noise, families=families, nights=nights, rng=rng))
    changed = simulate_farm(noise, families=families, nights=_FIRST_BAD + max(_WITHIN), rng=rng)
    changed.values[_POSITION::SERIES_PER_FAMILY, _FIRST_BAD:] *= RATIO
    alarmed = _count_confirmed(calm)[0]
    figures = {POOL_FALSE: 100 * alarmed / int(calm.is_pool.sum())}
    for builds in _WITHIN:
        view = changed._replace(values=changed.values[:, : _FIRST_BAD + builds])
        found = _count_confirmed(lay_out_pools(view), operator_name(_POSITION))
        figures[f"+4 % within {builds}, %"] = 100 * found[0] / pools
        figures[f"by devices alone within {builds}, %"] = 100 * found[1] / families
    figures[ELSEWHERE] = 100 * _share_elsewhere(noise, pools, rng)
    return {f"{noise.title}: pools of {DEVICES} devices": figures}


def _share_elsewhere(noise: Noise, pools: int, rng: np.random.Generator) -> float:
    """Share of the devices whose pool names another build than theirs; halves change apart."""
    nights = _FIRST_BAD + 2 * max(_WITHIN)
    farm = simulate_farm(noise, families=pools * DEVICES, nights=nights, rng=rng)
    first_bad = _FIRST_BAD + rng.permuted([[0, int(n)] for n in rng.integers(1, 5, pools)], axis=1)
    begins = np.repeat(first_bad, DEVICES // 2)
    ratios = np.repeat(rng.uniform(1.04, 1.3, first_bad.size), DEVICES // 2)
    for device, (begin, ratio) in enumerate(zip(begins.tolist(), ratios.tolist(), strict=True)):
        farm.values[device * SERIES_PER_FAMILY + _POSITION, begin:] *= ratio
    fleet = lay_out_pools(farm)
    wrong = {
        device
        for change in spread_to_devices(replay(fleet.history), fleet.pool)
        if fleet.operators[change.series] == operator_name(_POSITION) and change.pool is not None
        for device in [int(fleet.name(change.series)["device"].removeprefix(_BOARD))]
        if change.first_bad != begins[device]
    }
    return len(wrong) / len(begins)


def lay_out_pools(farm: Farm) -> Fleet:
    """The families of a farm as devices, every twelve of them a pool; the operators are alike."""
    return make_fleet(_list_rows(farm), build_name(farm.values.shape[1] - 1))


def _list_rows(farm: Farm) -> Iterator[dict[str, Any]]:
    nights = farm.values.shape[1]
    logs = np.sort(np.log(farm.values), axis=2).tolist()
    for series, family in enumerate(farm.family.tolist()):
        names = {
            "device": f"{_BOARD}{family:03}",
            "pool": f"pool-{family // DEVICES:02}",
            "event_name": f"native_call_{operator_name(series)}.out",
            "op_type": operator_name(series),
            "floor": FLOOR_NS,
        }
        for night in range(nights):
            yield fleet_row(build_name(night), nights - 1 - night, logs[series][night], **names)


def _count_confirmed(fleet: Fleet, operator: str | None = None) -> tuple[int, int]:
    """How many series of pools and of devices changed, or of one operator got slower."""
    found = {
        change.series
        for change in replay(fleet.history).changes
        if change.confirmed is not None
        and operator in (None, fleet.operators[change.series])
        and (operator is None or change.direction > 0)
    }
    of_pools = sum(bool(fleet.is_pool[series]) for series in found)
    return of_pools, len(found) - of_pools
