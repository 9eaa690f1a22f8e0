"""Small dumps that equal an earlier one byte for byte, except for the times of profile events.

A farm runs the same programs again and again, so nearly every dump is of this kind. Everything that
was verified for the earlier dump holds for it too, and only its times are read. Any other dump is
read in full, so this affects only speed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracehouse.ingest.etdump.arena import Arena, Ints, Mask
from tracehouse.ingest.etdump.dumps import Dumps
from tracehouse.ingest.etdump.layouts import SignatureBook
from tracehouse.ingest.etdump.repeats import find_overlapping_fields, find_times
from tracehouse.ingest.etdump.runs import FEWEST_WORDS, read_dumps
from tracehouse.ingest.etdump.schema import read_headers_of, read_runs
from tracehouse.ingest.etdump.scope import Scope

_LARGEST = FEWEST_WORDS * 4  # bytes; the runs of larger dumps are compared with each other
_MOST_BYTES = 2 << 20
_MOST_SIZES = 1 << 12


@dataclass(frozen=True, eq=False)
class _EarlierDump:
    """A dump that was read in full.

    Attributes:
        units: Its bytes, in units of 8.
        is_fixed: Whether a unit must be equal: it is not the time of an event.
        start, end: Unit of each profile event's time, -1 if absent.
        record: The dump's contents.
        signatures: The tables of its signatures.
    """

    units: NDArray[np.uint64]
    is_fixed: Mask
    start: Ints
    end: Ints
    record: Dumps
    signatures: dict[str, pa.Table]

    def read(self, units: NDArray[np.uint64]) -> Dumps | None:
        """The contents of a dump of the same size if it differs from this one only in times."""
        if ((units != self.units) & self.is_fixed).any():
            return None
        start, end = (np.where(place < 0, 0, units[place]) for place in (self.start, self.end))
        return replace(self.record, start=start, end=end)


@dataclass
class _Size:
    """The known dumps of one size, and how many dumps of this size were read in full."""

    dumps: list[_EarlierDump] = field(default_factory=list)
    reads: int = 0


class EarlierDumps:
    """The earlier dumps that a process knows; threads may share them, and at worst lose one."""

    def __init__(self) -> None:
        self._sizes: dict[int, _Size] = {}
        self._bytes = 0

    def read(self, buffer: Any) -> tuple[Dumps, dict[str, pa.Table]] | None:
        """The contents of a dump and the tables of its signatures; None if no known dump fits."""
        size = self._sizes.get(memoryview(buffer).nbytes)
        if not (size and size.dumps):
            return None
        units = _units(buffer)
        for known in size.dumps:
            if record := known.read(units):
                return record, known.signatures
        return None

    def add(self, buffer: Any, signatures: dict[str, pa.Table]) -> None:
        """Remember a valid ETDump, if another one of its size was read in full before.

        Dumps of a size that never repeat one another are rarely added, as adding takes time.
        """
        byte_count = memoryview(buffer).nbytes
        if byte_count > _LARGEST:
            return
        if self._bytes + byte_count > _MOST_BYTES or len(self._sizes) > _MOST_SIZES:
            self._sizes.clear()
            self._bytes = 0
        size = self._sizes.setdefault(byte_count, _Size())
        size.reads += 1
        if size.reads > 1 and size.reads.bit_count() == 1 and (known := _study(buffer, signatures)):
            size.dumps.insert(0, known)
            self._bytes += byte_count


EARLIER = EarlierDumps()


def _study(buffer: Any, signatures: dict[str, pa.Table]) -> _EarlierDump | None:
    """The dump with the places of its times; None if a part of it overlaps the time of an event."""
    arena, units = Arena([buffer]), _units(buffer)
    head = Scope.of_dumps(arena, np.zeros(1, np.int64))
    head.spans = []
    heads = read_headers_of(head)
    body = Scope.of_dumps(arena, heads.run_dump)
    body.spans = []
    profiles = read_runs(body, heads.run_word).profiles
    (record,) = read_dumps(arena, SignatureBook(), _LARGEST)
    order = _order_events(record, profiles.run)
    start, end = (np.where(time < 0, -1, time >> 1)[order] for time in find_times(profiles.tables))
    is_fixed = np.ones(len(units), bool)
    for times in (start, end):
        is_fixed[times[times >= 0]] = False
    uses = _count_uses(arena, [head, body], len(units)).reshape(-1, 8)
    if (uses[~is_fixed] != 1).any() or len(find_overlapping_fields(profiles.tables)):
        return None
    return _EarlierDump(units, is_fixed, start, end, record, signatures)


def _order_events(record: Dumps, run: Ints) -> Ints:
    """The order in which the record has the times of events, whose runs are given in file order."""
    stored = np.concatenate([stored.run for stored in record.stored])
    return np.argsort(np.argsort(stored)[run], kind="stable")


def _count_uses(arena: Arena, scopes: list[Scope], units: int) -> Ints:
    """For each byte, how many objects contain it; shape (units * 8,)."""
    begins, ends = [np.zeros(1, np.int64)], [np.full(1, 12)]  # size, root offset and identifier
    for scope in scopes:
        for _, begin, end in scope.spans or []:
            begins.append(begin)
            ends.append(end)
        for _, table in scope.tables:
            vtable = np.unique(table * 4 - arena.i32[table])
            begins.append(vtable)
            ends.append(vtable + arena.u16[vtable >> 1])
    begun, ended = (
        np.bincount(np.concatenate(some), minlength=units * 8 + 1) for some in (begins, ends)
    )
    return np.cumsum(begun - ended)[:-1]


def _units(buffer: Any) -> NDArray[np.uint64]:
    view = memoryview(buffer).cast("B")
    return np.frombuffer(b"".join([view, bytes(-len(view) % 8)]), np.uint64)
