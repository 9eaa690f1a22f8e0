"""What the operators of a family do together, and how far one may go with the others. Pure.

Operators do not all react alike to the state of a device: when a host becomes quiet, some become
twice as much faster as others. How they differ is known on a device that goes back and forth; after
a move that is new to it, and that nearly all kernels made, an operator has changed only if it went
further than any reaction, or against it. Where some kernels stayed as they were, it was no state of
the device.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from warehouse.regressions.history import NO_KERNEL, Cells, Series, SeriesHistory, find_families

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

REACTION = 1.5  # times an unusual shift that operators may go beyond it
LEAST_UNUSUAL = 0.03
_NIGHTS = 32
_USUAL_JUMPS = 3  # of half the size in those nights: there, back and there again
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

    def __init__(self, history: SeriesHistory, cells: Cells) -> None:
        self._there = find_families(history.series.family, cells.dump_count > 0)
        self._last = np.zeros(history.family_count)
        self._jumps = np.zeros((history.family_count, history.build_count))

    def add(self, build: int, shift: Floats, moved: Floats, together: Floats) -> SharedMove:
        """What each family did in a build, after those before it.

        Args:
            build: The build.
            shift: Shift of each family in it.
            moved: How far each family is from its base as it is.
            together: The share of its kernels that went there.
        """
        there = self._there[:, build]
        self._jumps[there, build] = np.abs(shift - self._last)[there]
        self._last[there] = shift[there]
        lately = self._jumps[:, max(0, build + 1 - _NIGHTS) : build + 1]
        jumps = np.count_nonzero(lately >= np.abs(moved)[:, None] / 2, axis=1)
        is_unusual = (np.abs(moved) > LEAST_UNUSUAL) & (together >= MOST) & (jumps < _USUAL_JUMPS)
        reaction = REACTION * np.where(is_unusual, moved, 0)
        return SharedMove(moved, np.fmax(reaction, 0), np.fmax(-reaction, 0))
