"""Dumps for benchmarks, made from a real one: larger, or with other durations."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np

from ingest.arena import Arena, Ints
from ingest.etdump import read_heads, read_runs
from ingest.scope import Scope

_SLAB_BYTES = 16 << 20


def repeat_runs(dump: bytes, times: int) -> bytes:
    """A size-prefixed dump with the runs of `dump` repeated, in the runtime's layout."""
    return b"".join(stream_repeated_runs(dump, times))


def stream_repeated_runs(dump: bytes, times: int) -> Iterator[bytes]:
    """The same, piece by piece.

    Works on what the runtime writes: root table, its vtable and the run vector come first, then
    the runs, the last one first, with the vtables among the first ones. Everything after the
    vector is repeated as one block, and all tables are made to share the last block's vtables.
    """
    vector = _vector_of_runs(dump)
    run, table = _runs_and_tables(dump)
    body = vector + 4 + 4 * len(run)
    start = vector + 4 + 4 * len(run) * times
    start += (body - start) % 8
    block = dump[body:] + bytes((body - len(dump)) % 8)
    size = start + times * len(block)
    place = start - body + np.arange(times)[::-1, None] * len(block) + run
    item = np.arange(vector + 4, vector + 4 + 4 * place.size, 4)
    items = (place.ravel() - item).astype("<i4").tobytes()
    yield struct.pack("<I", size - 4) + dump[4:vector] + struct.pack("<I", place.size) + items
    yield bytes(start - len(items) - vector - 4)
    words = np.frombuffer(block, "<i4")
    slab = max(_SLAB_BYTES // len(block), 1)
    for first in range(0, times, slab):
        further = times - 1 - np.arange(first, min(first + slab, times))
        copies = np.tile(words, (len(further), 1))
        copies[:, (table - body) // 4] -= (further * len(block)).astype(np.int32)[:, None]
        yield copies.tobytes()


def _runs_and_tables(dump: bytes) -> tuple[Ints, Ints]:
    """Byte of every run, and of every table in them."""
    arena = Arena([dump])
    heads = read_heads(arena)
    scope = Scope.of_dumps(arena, heads.run_dump)
    read_runs(scope, heads.run_word)
    return heads.run_word * 4, np.concatenate([word for _, word in scope.tables]) * 4


def _vector_of_runs(dump: bytes) -> int:
    root = 4 + struct.unpack_from("<I", dump, 4)[0]
    vtable = root - struct.unpack_from("<i", dump, root)[0]
    field = root + struct.unpack_from("<H", dump, vtable + 6)[0]
    return int(field + struct.unpack_from("<I", dump, field)[0])


class Template:
    """A real dump whose times can be changed: the same events with other durations."""

    def __init__(self, dump: bytes) -> None:
        arena = Arena([dump])
        heads = read_heads(arena)
        tables = read_runs(Scope.of_dumps(arena, heads.run_dump), heads.run_word).profiles.tables
        self._dump = np.frombuffer(dump, np.uint64)
        self._ends = (tables.word + (tables.offset(7) >> 2))[tables.has(7)] >> 1

    def vary(self, seed: int, *, scale: float = 1.0) -> bytes:
        """The dump with every event a little longer, by up to 1 us times `scale`."""
        rng = np.random.default_rng(seed)
        words = self._dump.copy()
        words[self._ends] += (rng.random(len(self._ends)) * 1000 * scale).astype(np.uint64)
        return words.tobytes()
