"""What the operators of a family do together, and how far one may go with the others. Pure.

Operators do not all react alike to the state of a device: when a host becomes quiet, some become
twice as much faster as others. How they differ is known of shifts as they usually are; after one
beyond that, which nearly all kernels made, an operator has changed only if it went further than any
reaction, or against it. Where some kernels stayed as they were, it was no state of the device.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from warehouse.regressions.errors import Errors
from warehouse.regressions.history import NO_KERNEL, Cells, Series, SeriesHistory, find_families

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

REACTION = 1.5  # times an unusual shift that operators may go beyond it
USUAL = 3.0  # times its typical size, up to which a shift is usual
LEAST_UNUSUAL = 0.03
MOST = 0.8  # of the kernels


class SharedMove(NamedTuple):
    """What the kernels of each family did together in a night.

    Attributes:
        moved: How far they are from their bases as they are.
        slower: How much slower than that an operator may be without a change of its own.
        faster: How much faster.
    """

    moved: Floats
    slower: Floats
    faster: Floats

    def reactions(self, series: Series, rows: Ints, way: Floats | Ints) -> Floats:
        """How far some series may have gone with their families; 0 for those without likes.

        `way` is 1 for slower and -1 for faster.
        """
        family, has_likes = series.family[rows], series.kernel[rows] != NO_KERNEL
        furthest: Floats = np.where(way > 0, self.slower[family], self.faster[family]) * has_likes
        return furthest


class SharedMoves:
    """The shared moves of the nights so far."""

    def __init__(self, history: SeriesHistory, cells: Cells, base_builds: int) -> None:
        families = history.family_count
        self._there = find_families(history.series.family, cells.dump_count > 0)
        self._errors = Errors(np.arange(families), history.build_count)
        self._reactions = np.zeros((families, history.build_count))
        self._base_builds = base_builds

    def add(self, build: int, moved: Floats, together: Floats) -> SharedMove:
        """Keep how far each family is from its base in a build, after those before it.

        `together` is the share of its kernels that went there.
        """
        is_unusual = np.abs(moved) > np.fmax(USUAL * self._errors.size(build), LEAST_UNUSUAL)
        is_unusual &= together >= MOST
        self._reactions[:, build] = np.where(is_unusual, REACTION * moved, 0)
        self._errors.add(build, np.where(self._there[:, build], moved, np.nan))
        since = max(0, build + 1 - self._base_builds)  # a base may have nights before it
        lately = self._reactions[:, since : build + 1].clip
        return SharedMove(moved, lately(0, None).max(axis=1), -lately(None, 0).min(axis=1))
