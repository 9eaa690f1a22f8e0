"""Dumps that cost more than their size lets expect, laid out by hand as 4-byte words, bare.

A position is a word of `rest`, which follows the vector of runs.
"""

from __future__ import annotations

from collections.abc import Sequence
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


def distinct_events(count: int, kinds: int | None = None) -> bytes:
    """One run of events that differ in the instruction alone, in 20 bytes each.

    With `kinds`, so many events come again and again.
    """
    vtables = _vtable(12, 8, 0, 0, 0, 4), _vtable(6, 8, 4, 0), _vtable(10, 8, 0, 0, 4, 0)
    event = 11 + count + 4 * np.arange(count)  # after vtables of 3, 2 and 3 words, run and vector
    items = 4 * (event - 11 - np.arange(count))
    number = np.arange(count) % (kinds or count)
    tables = np.column_stack([4 * (event - 3), np.full(count, 4), 4 * (event - 3), number])
    return _dump([8], *vtables, [32, 4, count], items, tables)


def distinct_runs(count: int) -> bytes:
    """Runs that differ in the bundled input index alone; they share one empty vector of events."""
    places = 3 + 3 * np.arange(count)
    vector = 3 + 3 * count
    tables = np.column_stack([4 * places, np.arange(count), 4 * (vector - places - 2)])
    return _dump(places, _vtable(12, 12, 0, 4, 0, 8), tables, [0])


def one_name_of_tensors(count: int, name: bytes = b"") -> bytes:
    """One value with a list of tensors of one word each; its name stands in each one's row."""
    vtables = (
        _vtable(12, 8, 0, 0, 0, 4), _vtable(10, 8, 0, 0, 4, 0), _vtable(16, 12, 0, 0, 4, 0, 0, 8),
        _vtable(10, 12, 8, 0, 4, 0), _vtable(6, 8, 4, 0), _vtable(4, 4),
    )  # fmt: skip
    run_at, event_at, debug_at, value_at, list_at, tensor_at = _places(vtables)
    text = np.frombuffer(name + bytes(4 - len(name) % 4), "<u4")
    run = sum(map(len, vtables))
    event, debug, value, tensors = run + 4, run + 6, run + 9, run + 12
    string = tensors + 2
    vector = string + 1 + len(text)
    first = vector + 1 + count
    head = [
        4 * (run - run_at), 4, 1, 4, 4 * (event - event_at), 4,
        4 * (debug - debug_at), 8, 4 * (string - debug - 2), 4 * (value - value_at), 8, 6,
        4 * (tensors - list_at), 4 * (vector - tensors - 1), len(name),
    ]  # fmt: skip
    items = np.full(count, 4 * count)
    tables = 4 * (first + np.arange(count) - tensor_at)
    return _dump([run], *vtables, head, text, [count], items, tables)


def loops_in_any_order(runs: int, events: int, seed: int = 0) -> bytes:
    """Runs of the same events, each in an order of its own: as many layouts."""
    rng = np.random.default_rng(seed)
    vtables = _vtable(12, 8, 0, 0, 0, 4), _vtable(6, 8, 4, 0), _vtable(10, 8, 0, 0, 4, 0)
    places = 8 + (3 + 5 * events) * np.arange(runs)
    parts = []
    for place in places.tolist():
        event = place + 3 + events + 4 * np.arange(events)
        items = 4 * (event - place - 3 - np.arange(events))
        order = rng.permutation(events)
        tables = np.column_stack([4 * (event - 3), 0 * order + 4, 4 * (event - 3), order])
        parts += [[4 * place, 4, events], items, tables]
    return _dump(places, *vtables, *parts)


def empty_events(count: int) -> bytes:
    """One run of events that are one word each."""
    vtables = _vtable(12, 8, 0, 0, 0, 4), _vtable(4, 4)
    tables = 4 * (7 + count + np.arange(count) - 3)
    return _dump([4], *vtables, [16, 4, count], np.full(count, 4 * count), tables)


def overlapping_vtables(runs: int, events: int, vtable_bytes: int = 0xFFFE) -> bytes:
    """Runs alike, in which each event has a vtable of its own; all of them lie over each other."""
    vtables = [_vtable(12, 8, 0, 0, 0, 4)]
    vtables += [_vtable(vtable_bytes, 8, 4, 0, 0, 0)] * events
    vtables += [_vtable(vtable_bytes, 4, *[0] * 8)] * events
    vtables += [np.zeros(vtable_bytes // 4 + 1, np.int64)]
    shape = np.array(_places(vtables))
    end = sum(map(len, vtables))
    places = end + (3 + 4 * events) * np.arange(runs)
    parts = []
    for place in places.tolist():
        event = place + 3 + events + 3 * np.arange(events)
        items = 4 * (event - place - 3 - np.arange(events))
        own, profile = shape[1 : 1 + events], shape[1 + events : 1 + 2 * events]
        tables = np.column_stack([4 * (event - own), 0 * own + 4, 4 * (event + 2 - profile)])
        parts += [[4 * place, 4, events], items, tables]
    return _dump(places, *vtables, *parts)


def lengths_of_all_kinds(count: int) -> bytes:
    """Three runs of each of so many lengths, with nothing in them but padding."""
    sizes = np.repeat(3 + np.arange(count), 3)
    places = 3 + np.cumsum(sizes) - sizes
    words = np.zeros(int(sizes.sum()), np.int64)
    words[places - 3], words[places - 2] = 4 * places, 4
    return _dump(places, _vtable(12, 8, 0, 0, 0, 4), words)


def _places(vtables: Sequence[Words]) -> list[int]:
    ends = np.cumsum([len(vtable) for vtable in vtables])
    return [0, *ends.tolist()[:-1]]


def _vtable(*items: int) -> Words:
    return np.array(items, "<u2").view("<u4").astype(np.int64)


def _dump(runs: Any, *rest: Any) -> bytes:
    count = len(runs)
    identifier = int.from_bytes(b"ED00", "little")
    head = [16, identifier, *_vtable(8, 8, 0, 4), 8, 4, count]
    items = 4 * (np.asarray(runs) + count - np.arange(count))
    words = [np.asarray(part).ravel() for part in (head, items, *rest)]
    return np.concatenate(words).astype("<u4").tobytes()
