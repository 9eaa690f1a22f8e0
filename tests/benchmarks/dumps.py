"""Large dumps for benchmarks, made from a real one by repeating its runs."""

from __future__ import annotations

import struct

import numpy as np

from ingest.arena import Arena
from ingest.etdump import read_heads, read_runs
from ingest.scope import Scope


def repeat_runs(dump: bytes, times: int) -> bytes:
    """A size-prefixed dump with the runs of `dump` repeated, in the runtime's layout.

    Works on what the runtime writes: root table, its vtable and the run vector come first, then
    the runs and at the end the vtables. Everything after the vector is repeated as one block, and
    all tables are made to share the first block's vtables.
    """
    arena = Arena([dump])
    heads = read_heads(arena)
    scope = Scope.of_dumps(arena, heads.run_dump)
    read_runs(scope, heads.run_word)
    tables = np.concatenate([word for _, word in scope.tables])
    vector = _vector_of_runs(dump)
    count = len(heads.run_word)
    body = vector + 4 + 4 * count
    start = vector + 4 + 4 * count * times
    start += (body - start) % 8
    block = dump[body:] + bytes(-len(dump) % 8)
    moved = start - body + np.arange(times) * len(block)
    out = bytearray(dump[:vector]) + struct.pack("<I", count * times) + bytes(start - vector - 4)
    out += block * times
    words = np.frombuffer(out, np.int32) if len(out) % 4 == 0 else None
    assert words is not None
    place = (heads.run_word * 4 + moved[:, None]).ravel()
    item = np.arange(count * times) + (vector + 4) // 4
    words[item] = place - item * 4
    words[(tables * 4 + moved[:, None]) // 4] += (moved - moved[0]).astype(np.int32)[:, None]
    struct.pack_into("<I", out, 0, len(out) - 4)
    return bytes(out)


def _vector_of_runs(dump: bytes) -> int:
    root = 4 + struct.unpack_from("<I", dump, 4)[0]
    vtable = root - struct.unpack_from("<i", dump, root)[0]
    field = root + struct.unpack_from("<H", dump, vtable + 6)[0]
    return field + struct.unpack_from("<I", dump, field)[0]


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
