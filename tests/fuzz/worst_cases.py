"""Dumps that cost more than their size lets expect, laid out by hand as 4-byte words, bare.

A position is a word of `rest`, which follows the vector of runs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.int64]


def tiny_runs(count: int) -> bytes:
    """Runs of one word each: tables without fields."""
    runs = np.arange(1, count + 1)
    return _dump(runs, _vtable(4, 4), 4 * runs)


def shared_run(count: int, padding: int) -> bytes:
    """One table without fields as every run, and bytes to pay for the visits."""
    return _dump(np.ones(count), _vtable(4, 4), [4], np.zeros(padding // 4))


def shared_events(runs: int, events: int) -> bytes:
    """Runs that share a vector of events that are all one: as many visits as the product."""
    vtables = _vtable(12, 8, 0, 0, 0, 4), _vtable(4, 4)  # 3 words and 1
    places = 4 + 2 * np.arange(runs)
    vector = 4 + 2 * runs
    tables = np.column_stack([4 * places, 4 * (vector - places - 1)])
    items = 4 * (events - np.arange(events))
    event = vector + 1 + events
    return _dump(places, *vtables, tables, [events], items, [4 * (event - 3)])


def distinct_events(count: int) -> bytes:
    """One run of events that differ in the instruction alone, in 20 bytes each."""
    vtables = _vtable(12, 8, 0, 0, 0, 4), _vtable(6, 8, 4, 0), _vtable(10, 8, 0, 0, 4, 0)
    event = 11 + count + 4 * np.arange(count)  # after vtables of 3, 2 and 3 words, run and vector
    items = 4 * (event - 11 - np.arange(count))
    tables = np.column_stack([4 * (event - 3), np.full(count, 4), 4 * (event - 3), event])
    return _dump([8], *vtables, [32, 4, count], items, tables)


def distinct_runs(count: int) -> bytes:
    """Runs that differ in the bundled input index alone; they share one empty vector of events."""
    places = 3 + 3 * np.arange(count)
    vector = 3 + 3 * count
    tables = np.column_stack([4 * places, np.arange(count), 4 * (vector - places - 2)])
    return _dump(places, _vtable(12, 12, 0, 4, 0, 8), tables, [0])


def _vtable(*items: int) -> Words:
    return np.array(items, "<u2").view("<u4").astype(np.int64)


def _dump(runs: Any, *rest: Any) -> bytes:
    count = len(runs)
    identifier = int.from_bytes(b"ED00", "little")
    head = [16, identifier, *_vtable(8, 8, 0, 4), 8, 4, count]
    items = 4 * (np.asarray(runs) + count - np.arange(count))
    words = [np.asarray(part).ravel() for part in (head, items, *rest)]
    return np.concatenate(words).astype("<u4").tobytes()
