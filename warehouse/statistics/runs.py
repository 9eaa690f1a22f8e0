"""Runs of equal adjacent numbers, and places within them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tracehouse.warehouse.statistics.arrays import Ints


def find_starts(keys: Sequence[NDArray[np.generic]]) -> Ints:
    """Where a row differs from the one before it in any key."""
    changes = np.ones(len(keys[0]), bool)
    np.not_equal(keys[0][1:], keys[0][:-1], out=changes[1:])
    for key in keys[1:]:
        changes[1:] |= key[1:] != key[:-1]
    return np.flatnonzero(changes)


def list_alike(*keys: NDArray[np.generic]) -> Iterator[Ints]:
    """The rows of each existing combination of keys."""
    order = np.lexsort(keys)
    if len(order):
        yield from np.split(order, find_starts([key[order] for key in keys])[1:])


def places_in_runs(count: Ints) -> Ints:
    """The place of each item in its run, for runs of these lengths.

    >>> places_in_runs(np.array([2, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    return np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)


def rank_in_groups(group: Ints, key: NDArray[np.generic]) -> Ints:
    """The rank of each item in its group by a key, from 0; of equal keys the first item first.

    >>> rank_in_groups(np.array([7, 5, 7, 7]), np.array([3, 0, 1, 2])).tolist()
    [2, 0, 0, 1]
    """
    order = np.lexsort((key, group))
    count = np.diff(find_starts([group[order]]), append=len(order))
    rank = np.empty(len(order), np.int64)
    rank[order] = places_in_runs(count)
    return rank


def order_in_runs(count: Ints, *keys: NDArray[np.generic]) -> Ints:
    """The order of items in which those of each run ascend by keys, the last key first.

    >>> order_in_runs(np.array([1, 3]), np.array([9, 7, 5, 6])).tolist()
    [0, 2, 3, 1]
    """
    order, start = np.arange(int(count.sum())), np.cumsum(count) - count
    # Runs of equal length are rows of a table, which are sorted far faster than the whole.
    for runs in list_alike(count):
        items = start[runs][:, None] + np.arange(count[runs[0]])
        places = np.lexsort([key[items] for key in keys], axis=1)
        order[items] = np.take_along_axis(items, places, 1)
    return order
