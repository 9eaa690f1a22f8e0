"""The contribution of each of several factors to an operator's spread: nested analysis. Pure.

The factors are nested, from the device to the process: dumps of a device differ by its firmware,
those of a device and a firmware by its governor, and so on. A factor with a single value wherever
the earlier factors agree cannot be distinguished: its effect is part of theirs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tracehouse.warehouse.statistics.arrays import Floats, Ints
from tracehouse.warehouse.statistics.two_samples import INTERVAL_Z

FACTORS = ("device", "firmware", "governor", "temperature", "session", "build", "process")
_OF_A_RECORDING = slice(1, 5)  # factors that the dumps of a recording share
_PROCESS = 6
_FOUND_Z = 1.2815515655446004  # Nine of ten cases are below it


class DetectableChanges(NamedTuple):
    """The smallest changes, as logarithms, that nine of ten comparisons of two builds find.

    Attributes:
        now: With builds recorded once each, with as many dumps as a recording has.
        more_dumps: With twice as many dumps.
        more_sessions: With two sessions each.
        pairs: With one session of as many pairs.
        pool: With all devices, recorded once each.
    """

    now: float
    more_dumps: float
    more_sessions: float
    pairs: float
    pool: float


def split_variance(logs: Floats, groups: Ints) -> Floats:
    """The variance that each of FACTORS adds, by the method of moments; NaN if indistinguishable.

    Each mean square equals its expectation, which gives one equation for each factor. A negative
    solution counts as 0.

    Args:
        logs: The value of each dump, a logarithm.
        groups: Its number of each factor except the process; shape (dumps, 6).
    """
    logs = logs - logs[0]  # so that equal values differ by exactly 0
    numbers = _nested_numbers(groups)
    sizes = [np.bincount(number) for number in numbers]
    means = [np.bincount(number, logs) / size for number, size in zip(numbers, sizes, strict=True)]
    counts = [len(size) for size in sizes]
    found = np.full(len(FACTORS), np.nan)
    for k in range(len(FACTORS) - 1, -1, -1):
        freedom = counts[k + 1] - counts[k]
        if not freedom:
            continue
        own, above = numbers[k + 1], numbers[k]
        square = float(((means[k + 1][own] - means[k][above]) ** 2).sum()) / freedom
        share = 1 / sizes[k + 1][own] - 1 / sizes[k][above]
        for j in range(len(FACTORS) - 1, k, -1):
            if not np.isnan(found[j]):
                square -= found[j] * float((sizes[j + 1][numbers[j + 1]] * share).sum()) / freedom
        weight = float((sizes[k + 1][own] * share).sum()) / freedom
        found[k] = max(square, 0.0) / weight
    return found


def _nested_numbers(groups: Ints) -> list[Ints]:
    """Numbers of the groups by no factor, by the first, by the first two, ..., by dump."""
    numbers = [np.zeros(len(groups), np.int64)]
    for column in groups.T:
        lowest, highest = int(column.min(initial=0)), int(column.max(initial=0))
        pairs = numbers[-1] * (highest - lowest + 1) + (column - lowest)
        numbers.append(np.unique(pairs, return_inverse=True)[1])
    return [*numbers, np.arange(len(groups))]


def find_detectable(variances: Floats, groups: Ints) -> DetectableChanges:
    """Detectable changes of two builds, by the variances of `split_variance`; NaN if unknown.

    Factors that the dumps of a recording share (firmware, governor, temperature, session) are noise
    between two recordings, and cancel in pairs. p is assumed to be 0.01, as for a single operator,
    and values to be normally distributed.
    """
    recordings = np.bincount(_nested_numbers(groups)[-2])
    devices = len(np.unique(groups[:, 0]))
    dumps = float(np.median(recordings))
    process = variances[_PROCESS] / dumps
    common = variances[_OF_A_RECORDING]
    is_known = not np.isnan(common[-1])
    session = float(np.nansum(common)) if is_known else np.nan
    return DetectableChanges(
        *(
            (INTERVAL_Z + _FOUND_Z) * float(np.sqrt(2 * variance))
            for variance in (
                session + process,
                session + process / 2,
                (session + process) / 2,
                process,
                (session + process) / devices if devices > 1 else np.nan,
            )
        )
    )
