"""An anytime-valid test beside the rule: `python -m tests.tools.detection.evidence`.

The rule suspects a night and asks the nights after it. An e-process may be looked at every night
instead, and stopped whenever it says enough: by Ville's inequality it is rarely ever large while
nothing changes. Here it is the likelihood ratio of the t statistic of the nights since a change and
those before, a night counting once, averaged over sizes and directions of the change; summed over
the nights on which the change may have begun (Shiryaev and Roberts, as an e-detector).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tests.tools.detection.detectors import Alarm, Detector, detect_nightly
from tests.tools.detection.farms import NOISES, Farm
from tests.tools.detection.trials import BUILDS, FALSE, SIZES, Extent, found_unit, try_noise

EXTENT = Extent(calm=25, nights=90, changed=60)
ENOUGH = 9000.0  # 90 nights over it is the 1 % of series that may be alarmed
_BASE_NIGHTS, _LEAST_NIGHTS, _MOST_NIGHTS = 32, 6, 6
_EFFECTS = np.array([1.5, 3.0, 6.0])  # standard deviations of nights
_MIN_CHANGE = np.log(1.03)
_WORTH_WEIGHING = 2.5  # t, below which the ratio is far from ENOUGH
_GRID = np.linspace(0.02, 14, 350)[:, None]
_SEED = 1

Floats = NDArray[np.float64]


def detect_by_evidence(farm: Farm) -> list[Alarm]:
    """Changes that the e-process is sure of."""
    levels = _levels(farm)
    alarms = []
    for series in range(len(levels)):
        alarms += _watch(series, levels[series])
    return alarms


def _levels(farm: Farm) -> Floats:
    """The level of each series and night, the state of the device in each dump taken out."""
    logs = np.log(farm.values)
    states = np.zeros_like(logs)
    nights = np.median(logs, axis=2)
    for night in range(1, logs.shape[1]):
        usual = np.median(nights[:, max(0, night - _BASE_NIGHTS) : night], axis=1)
        apart = logs[:, night] - usual[:, None]
        for family in np.unique(farm.family):
            own = farm.family == family
            states[own, night] = np.median(apart[own], axis=0)
    states[:, 0] = states[:, 1:].mean(axis=(1, 2))[:, None]
    free = np.sort(logs - states, axis=2)
    levels: Floats = free[:, :, 2:-2].mean(axis=2)  # a trimmed mean
    return levels


def _watch(series: int, levels: Floats) -> list[Alarm]:
    alarms, since = [], 0
    for night in range(_LEAST_NIGHTS, len(levels)):
        starts = range(max(since + _LEAST_NIGHTS, night + 1 - _MOST_NIGHTS), night + 1)
        if not starts:
            continue
        bases = (levels[max(since, start - _BASE_NIGHTS) : start] for start in starts)
        weighed = [
            weigh_change(base, levels[start : night + 1])
            for base, start in zip(bases, starts, strict=True)
        ]
        ratios, shifts = zip(*weighed, strict=True)
        best = int(np.argmax(ratios))
        if sum(ratios) >= ENOUGH and abs(shifts[best]) >= _MIN_CHANGE:
            since = starts[best]
            alarms.append(Alarm(series, night, since, 1 if shifts[best] > 0 else -1))
    return alarms


def weigh_change(before: Floats, after: Floats) -> tuple[float, float]:
    """The likelihood ratio of a change between the nights, and how large it is."""
    n, m = len(before), len(after)
    shift = float(after.mean() - before.mean())
    freedom = n + m - 2
    squares = ((before - before.mean()) ** 2).sum() + ((after - after.mean()) ** 2).sum()
    scale = np.sqrt(n * m / (n + m))
    t = shift * scale / np.sqrt(max(squares, 1e-18) / freedom)
    if abs(t) < _WORTH_WEIGHING:
        return 0.0, shift
    apart = np.concatenate([-_EFFECTS, _EFFECTS]) * scale
    return float(_ratios(t, freedom, apart).mean()), shift


def _ratios(t: float, freedom: int, apart: Floats) -> Floats:
    """Density of noncentral t over that of Student's, by the integral over the deviation."""
    total = t**2 + freedom
    centre = apart * t / np.sqrt(total)
    logs = freedom * np.log(_GRID)
    top = np.trapezoid(np.exp(logs - (_GRID - centre) ** 2 / 2 - logs.max()), _GRID[:, 0], axis=0)
    bottom = np.trapezoid(np.exp(logs - _GRID**2 / 2 - logs.max())[:, 0], _GRID[:, 0])
    ratios: Floats = top / bottom * np.exp(centre**2 / 2 - apart**2 / 2)
    return ratios


def main() -> None:
    """Print, by noise, what the rule and the e-process say of the same farms."""
    detectors: dict[str, Detector] = {"rule": detect_nightly, "e-process": detect_by_evidence}
    units = [found_unit(ratio, builds) for ratio in SIZES for builds in BUILDS]
    print("noise: detector", FALSE, *units, sep="; ")
    for noise in NOISES:
        for what, figures in try_noise(noise, detectors, EXTENT, _SEED).items():
            print(what, *(f"{figures[unit]:.1f}" for unit in (FALSE, *units)), sep="; ", flush=True)


if __name__ == "__main__":
    main()
