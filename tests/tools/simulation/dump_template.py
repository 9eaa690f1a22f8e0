"""Dumps derived from another dump, with repeated runs or with other times. Pure.

This relies on the layout that the runtime and `dump_builder.py` write: the root table, its vtable
and the run vector, then the runs in reverse order, with the vtables among the first ones.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from tracehouse.ingest.errors import DumpError
from tracehouse.ingest.etdump.arena import Arena, Ints, Scope
from tracehouse.ingest.etdump.flatbuffer import read_tables
from tracehouse.ingest.etdump.repeats import find_times
from tracehouse.ingest.etdump.schema import read_headers, read_runs

_SLAB_BYTES = 16 << 20
_RUN_WIDTHS = (4, 4, 4, 4)
_RUN_EVENTS = 3

Ticks = NDArray[np.uint64]


def repeat_runs(dump: bytes, times: int, *, first_run: int = 0) -> bytes:
    """A size-prefixed dump with the runs from `first_run` on repeated, in the runtime's layout."""
    return b"".join(stream_repeated_runs(dump, times, first_run=first_run))


def stream_repeated_runs(dump: bytes, times: int, *, first_run: int = 0) -> Iterator[bytes]:
    """The result of `repeat_runs` in pieces.

    The bytes of the repeated runs are copied as one block. The last copy keeps its place before the
    other runs, and the tables of all copies refer to the last copy's vtables.
    """
    vector = _vector_of_runs(dump)
    run, table = _runs_and_tables(dump)
    body = vector + 4 + 4 * len(run)
    rest = int(run[first_run - 1]) if first_run else len(dump)
    gap = (body - rest) % 8
    block = bytes(gap) + dump[body:rest]
    count = first_run + (len(run) - first_run) * times
    start = vector + 4 + 4 * count
    start += (body - start) % 8
    end = start - gap + times * len(block)
    repeated = start - body + np.arange(times)[:, None] * len(block) + run[first_run:]
    place = np.concatenate([run[:first_run] + end - rest, repeated[::-1].ravel()])
    items = (place - np.arange(vector + 4, vector + 4 + 4 * count, 4)).astype("<i4").tobytes()
    size = end + len(dump) - rest
    yield struct.pack("<I", size - 4) + dump[4:vector] + struct.pack("<I", count) + items
    yield bytes(start - len(items) - vector - 4)
    copies = _copies(block, times, (table[table < rest] - body + gap) // 4)
    yield next(copies)[gap:]
    yield from copies
    yield dump[rest:]


def _copies(block: bytes, times: int, tables: Ints) -> Iterator[bytes]:
    """A block several times, with tables at these words that refer to the last copy's vtables."""
    words = np.frombuffer(block, "<i4")
    slab = max(_SLAB_BYTES // len(block), 1)
    for first in range(0, times, slab):
        further = times - 1 - np.arange(first, min(first + slab, times))
        copies = np.tile(words, (len(further), 1))
        copies[:, tables] -= (further * len(block)).astype(np.int32)[:, None]
        yield copies.tobytes()


class DumpTemplate:
    """A dump from which others are derived: the same events at other times.

    Attributes:
        starts: Start of every profile event in ticks, in file order.
        ends: End of every profile event, likewise.
    """

    def __init__(self, dump: bytes) -> None:
        """Find the positions of all times.

        Raises:
            DumpError: An event starts or ends at tick 0, which a dump does not store.
        """
        arena = Arena([dump])
        heads = read_headers(arena)
        scope = Scope.of_dumps(arena, heads.run_dump)
        profiles = read_runs(scope, heads.run_word).profiles
        tables = profiles.tables
        times = find_times(tables)
        if min(place.min(initial=0) for place in times) < 0:
            raise DumpError(
                "template", reason="absent_time", byte_offset=None,
                detail="an event starts or ends at tick 0; wanted other times",
            )  # fmt: skip
        self._words = np.frombuffer(dump + bytes(-len(dump) % 8), np.uint64)
        self._size = len(dump)
        self._places = [place >> 1 for place in times]
        self._event_vectors = _event_vectors(arena, heads.run_word)
        self.starts, self.ends = profiles.start, profiles.end

    @property
    def byte_count(self) -> int:
        """Size of every derived dump."""
        return self._size

    def with_times(
        self, starts: Ticks, ends: Ticks, *, event_counts: Mapping[int, int] | None = None
    ) -> bytes:
        """The dump with other times.

        Args:
            starts: Start of every event, in the order of `self.starts`; may have more dimensions.
            ends: End of every event.
            event_counts: For runs that log only their first events, as failing runs do, the number
                of events by index of the run.
        """
        words = self._words.copy()
        for place, ticks in zip(self._places, (starts, ends), strict=True):
            words[place] = ticks.reshape(-1)
        for run, count in (event_counts or {}).items():
            words.view(np.uint32)[self._event_vectors[run]] = count
        return words.tobytes()[: self._size]


def _event_vectors(arena: Arena, run_word: Ints) -> dict[int, int]:
    everyone = np.zeros(len(run_word), np.int64)
    tables = read_tables(
        Scope.of_dumps(arena, everyone), run_word, np.arange(len(run_word)), _RUN_WIDTHS
    )
    rows, vectors, _ = tables.refs(_RUN_EVENTS)
    return dict(zip(rows.tolist(), vectors.tolist(), strict=True))


def _runs_and_tables(dump: bytes) -> tuple[Ints, Ints]:
    arena = Arena([dump])
    heads = read_headers(arena)
    scope = Scope.of_dumps(arena, heads.run_dump)
    read_runs(scope, heads.run_word)
    return heads.run_word * 4, np.concatenate([word for _, word in scope.tables]) * 4


def _vector_of_runs(dump: bytes) -> int:
    root = 4 + struct.unpack_from("<I", dump, 4)[0]
    vtable = root - struct.unpack_from("<i", dump, root)[0]
    field = root + struct.unpack_from("<H", dump, vtable + 6)[0]
    return int(field + struct.unpack_from("<I", dump, field)[0])
