"""Histories made by hand: values of a few series in a few nights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracehouse.warehouse.regressions.fleet import Series, SeriesHistory, lay_out
from tracehouse.warehouse.statistics.device_states import KERNELS

LEVEL = 10.0  # the logarithm of 22 us
NOISE = 0.01

Dumps = Sequence[float] | NDArray[np.float64]


def series(count: int, **changes: Any) -> Series:
    """This many series of one family, each a different kernel."""
    fields: dict[str, Any] = {
        "family": [0] * count,
        "kernel": range(count),
        "floor": [0.0] * count,
        "half_tick": [0.0] * count,
        "min_change": [0.03] * count,
        "unit": [KERNELS] * count,
    } | changes
    whole = {"family", "kernel", "unit"}
    return Series(
        **{k: np.array(list(v), np.int64 if k in whole else float) for k, v in fields.items()}
    )


def history(cells: Sequence[Sequence[Dumps]], **changes: Any) -> SeriesHistory:
    """A history of the dumps of each series and night; all series have the same number of nights.

    The n-th values of all series in a night are of one dump.
    """
    nights = len(cells[0])
    dumps = [np.asarray(each, float) for row in cells for each in row]
    known = series(len(cells), **changes)
    count = np.array([len(each) for each in dumps], np.int64)
    most = int(count.max(initial=0))
    dump = [(place % nights) * most + np.arange(len(each)) for place, each in enumerate(dumps)]
    return lay_out(
        known,
        nights,
        np.arange(len(dumps)),
        count,
        np.concatenate(dumps),
        np.concatenate(dump),
    )


def night(seed: int, level: float = 0.0, *, dumps: int = 10, noise: float = NOISE) -> Dumps:
    """Dumps of one night: always the same for a seed, their median on the level."""
    values = np.random.default_rng(seed).normal(0, noise, dumps)
    middle = np.median(values) if dumps else 0.0
    centred: NDArray[np.float64] = LEVEL + level + values - middle
    return centred


def nights(
    seed: int, levels: Sequence[float | None], *, dumps: int = 10, wander: float = 0.004
) -> list[Dumps]:
    """Nights of one series at these levels (None for no dumps), each a little off as builds are."""
    off = np.random.default_rng(1000 + seed).normal(0, wander, len(levels))
    return [
        [] if level is None else night(seed * 997 + number, level + off[number], dumps=dumps)
        for number, level in enumerate(levels)
    ]
