"""Dumps laid end to end in memory, and the bounds and limits within which they are read. Pure.

Each limit is far beyond what a runtime writes (see docs/etdump-format.md). Limits apply to the
decoded contents of a dump, so the outcome does not depend on other dumps decoded with it, or on how
it is split into parts.

Positions are counted in 4-byte words from the start of the arena, as all targets of offsets are
4-aligned. Every offset is checked before it is followed; the first check that fails raises
`FaultyDumps` with each dump at fault, so that the caller can read the others again without these.
All arithmetic is 64-bit, so no file can overflow it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

_CLOSE = 8  # range of keys per key up to which a lookup table is cheaper than sorting


@dataclass(frozen=True)
class Fault:
    """Why a dump is refused: machine-readable reason, byte offset in the dump, what was wanted."""

    reason: str
    byte_offset: int
    detail: str


class FaultyDumps(Exception):  # noqa: N818 - control flow, never shown
    """Some dumps of the arena are malformed; `faults` maps their index to the first fault."""

    def __init__(self, faults: dict[int, Fault]) -> None:
        super().__init__(faults)
        self.faults = faults


class Arena:
    """Dumps as one block of memory, each at an 8-byte boundary: file alignment is arena alignment.

    Attributes:
        lo: First byte of each dump.
        hi: Byte after the last of each dump.
        u8, u16, i32, u64: The same memory as arrays of these types, without an incomplete item
            at the end.
        vtables: Contents of verified vtables, by byte and slot widths (see flatbuffer.py).
    """

    def __init__(self, buffers: Sequence[Any]) -> None:
        """Copy the bytes-like buffers into one block; a single buffer is not copied."""
        views = [memoryview(buffer).cast("B") for buffer in buffers]
        sizes = np.fromiter(map(len, views), np.int64, len(views))
        room = (sizes + 7) & ~7
        ends = np.cumsum(room)
        self.lo: Ints = ends - room
        self.hi: Ints = self.lo + sizes
        if len(views) == 1:
            block: Any = views[0]
        else:
            pads = [bytes(pad) for pad in (room - sizes).tolist()]
            block = b"".join([part for pair in zip(views, pads, strict=True) for part in pair])
        self.u8 = np.frombuffer(block, np.uint8)
        self.u16 = self.u8[: len(self.u8) & ~1].view(np.uint16)
        self.i32 = self.u8[: len(self.u8) & ~3].view(np.int32)
        self.u64 = self.u8[: len(self.u8) & ~7].view(np.uint64)
        assert not (self.lo & 7).any()
        self.vtables: dict[tuple[int, tuple[int, ...]], tuple[int, ...]] = {}


def representatives(keys: Ints) -> Ints:
    """For each key the index of one row with that key, the same row for equal keys."""
    if not len(keys):
        return keys
    lowest = keys.min()
    room = int(keys.max() - lowest) + 1
    if room > _CLOSE * len(keys):
        _, chosen, member = np.unique(keys, return_index=True, return_inverse=True)
        return chosen[member]
    scratch = np.empty(room, np.int64)
    scratch[keys - lowest] = np.arange(len(keys))
    found: Ints = scratch[keys - lowest]
    return found


LONGEST_NAME = 1 << 16
"""Bytes of a text: the name of a run, event, value or allocator, or a string delegate id."""

EXPANSION = 8
"""Bytes of repeated text per byte of the dump, as the rows of tensors and calls repeat names."""

EXPANSION_SLACK = 1 << 13
"""Bytes of repeated text that are allowed for a dump of any size."""

MOST_PART_TEXT = 1 << 27
"""Bytes of repeated text in one event, or in the signatures of one run."""

MOST_SIGNATURE_TEXT = 256 << 20
"""Bytes of text in the event signatures of a dump."""

MOST_SIGNATURES = 100_000
"""Distinct events in a run; event signatures in a dump; run signatures in a dump."""

MOST_SIGNATURE_EVENTS = 2_000_000
"""Event signatures in all run signatures of a dump together."""

MOST_RUNS = 1 << 22
"""Runs in a dump."""

MOST_EVENT_BYTES = 16 << 20
"""Bytes that one event refers to, or a run without its events (its allocators)."""

PART_BYTES = 8 << 20
"""Bytes read at a time in a dump that is decoded in parts; does not affect the outcome."""

PART_EVENTS = 1 << 16
"""Events read at a time in a larger run; does not affect the outcome."""

MOST_BLOB_BLOCKS = 1 << 18
"""Blocks in a profiler blob."""

MOST_BLOB_ENTRIES = 1 << 21
"""Allocators and allocations in a profiler blob; events in one of its blocks."""

TOO_MUCH_TEXT = Fault(
    "expands_too_much", 0,
    "long names are repeated in too many rows or signatures: wanted shorter "
        "names, or smaller dumps",
)  # fmt: skip
TOO_MANY_SIGNATURES = Fault(
    "too_many_signatures", 0,
    f"more than {MOST_SIGNATURES:,} distinct events or runs (or {MOST_SIGNATURE_EVENTS:,} events "
    "in distinct runs): wanted names and ids that recur, or smaller dumps",
)  # fmt: skip
EVENT_TOO_LARGE = Fault(
    "event_too_large", 0,
    f"an event, or a run's allocators, of more than {MOST_EVENT_BYTES:,} bytes: wanted less",
)  # fmt: skip
BLOB_TOO_LARGE = Fault(
    "blob_too_large", 0,
    f"more than {MOST_BLOB_BLOCKS:,} blocks, or {MOST_BLOB_ENTRIES:,} allocations or events of one "
    "block: wanted several smaller blobs",
)  # fmt: skip
LIMIT_REASONS = frozenset(
    ["too_large", "too_many_runs", "name_too_long"]
    + [one.reason for one in (TOO_MUCH_TEXT, TOO_MANY_SIGNATURES, EVENT_TOO_LARGE, BLOB_TOO_LARGE)]
)
"""Reasons of refusals that are about size; the others are about damage."""


def text_budget(sizes: Ints) -> Ints:
    """Bytes of repeated text that are allowed for dumps of these sizes."""
    return EXPANSION * sizes + EXPANSION_SLACK


class PartTooLarge(Exception):  # noqa: N818 - control flow, never shown
    """A read visits more bytes than allowed at a time: read less at once."""


@dataclass(frozen=True)
class _Accounts:
    """The account of each owner; the dump and the budget in bytes of each account."""

    of_owner: Ints
    dump: Ints
    budget: Ints


class Scope:
    """The bounds within which tables may be read, and accounts of the bytes they take.

    Each row of a column has an owner, which determines the bounds of its offsets. Writers never
    share tables, so a file with more bytes to visit than it has is a bomb; refusing it bounds time
    and memory by the file's size.

    Attributes:
        dump: Dump of each owner.
        lo, hi: Bounds of that dump in bytes; the owner's vtables may be anywhere in it.
        end: Byte that the owner's tables, vectors and strings must not pass.
        visited: Bytes visited, per account.
        tables: (owner, word) of every column of tables read so far.
        spans: In a scope of pieces, (owner, begin, end) of all visited bytes.
    """

    def __init__(self, arena: Arena, dump: Ints, end: Ints, *, accounts: _Accounts) -> None:
        self.arena, self.dump, self.end = arena, dump, end
        self.visited: Ints = np.zeros(len(accounts.budget), np.int64)
        self.tables: list[tuple[Ints, Ints]] = []
        self.spans: list[tuple[Ints, Ints, Ints]] | None = None
        self._accounts = accounts
        self._ceiling: int | None = None
        self.lo, self.hi = arena.lo[dump], arena.hi[dump]

    @classmethod
    def of_dumps(cls, arena: Arena, dump: Ints) -> Scope:
        """A scope whose owners may refer to anything in their dump; one account per dump."""
        everyone = np.arange(len(arena.lo))
        accounts = _Accounts(dump, everyone, arena.hi - arena.lo)
        return cls(arena, dump, arena.hi[dump], accounts=accounts)

    @classmethod
    def of_pieces(cls, arena: Arena, dump: Ints, begin: Ints, end: Ints) -> Scope:
        """A scope whose owners may not refer past the end of their piece; one account per owner."""
        accounts = _Accounts(np.arange(len(dump)), dump, end - begin)
        scope = cls(arena, dump, end, accounts=accounts)
        scope.spans = []
        return scope

    def allow(self, byte_count: int) -> None:
        """From now on, raise `PartTooLarge` after this many visited bytes."""
        self._ceiling = int(self.visited.sum()) + byte_count

    def require(self, ok: Mask, owner: Ints, at: Ints, *, reason: str, detail: str) -> None:
        """Check that all of `ok` is true.

        Args:
            ok: The condition, per row.
            owner: Owner of each row.
            at: Byte position in the arena that each row's check concerns.
            reason: Machine-readable name of the fault.
            detail: What is wanted, for people.

        Raises:
            FaultyDumps: For each dump with a row that is not ok, its first such row.
        """
        if ok.all():
            return
        bad = np.flatnonzero(~ok)
        dumps, first = np.unique(self.dump[owner[bad]], return_index=True)
        offsets = np.maximum(at[bad[first]] - self.arena.lo[dumps], 0)
        found = zip(dumps.tolist(), offsets.tolist(), strict=True)
        raise FaultyDumps({dump: Fault(reason, offset, detail) for dump, offset in found})

    def of_owner(self, bounds: Ints, owner: Ints) -> Ints | np.int64:
        """The bound of each row's owner; one number if the scope has one owner."""
        return bounds[0] if len(bounds) == 1 else bounds[owner]

    def visit(self, owner: Ints, at: Ints, byte_counts: Ints | int) -> None:
        """Charge the bytes from `at` on; repeated visits are charged again.

        Raises:
            FaultyDumps: An account's visited bytes exceed its budget.
            PartTooLarge: More is visited than allowed at a time.
        """
        if self.spans is not None:
            self.spans.append((owner, at, at + byte_counts))
        if len(self.visited) == 1:
            total = byte_counts * len(owner) if isinstance(byte_counts, int) else byte_counts.sum()
            return self.charge(np.array([total]))
        weights = None if isinstance(byte_counts, int) else byte_counts
        account = self._accounts.of_owner[owner]
        counts = np.bincount(account, weights, len(self.visited)).astype(np.int64)
        self.charge(counts * byte_counts if weights is None else counts)

    def charge(self, byte_counts: Ints) -> None:
        """Charge bytes per account.

        Raises:
            FaultyDumps: An account's visited bytes exceed its budget.
            PartTooLarge: More is visited than allowed at a time.
        """
        self.visited += byte_counts
        over = self.visited > self._accounts.budget
        if over.any():
            fault = Fault(
                "shared_bytes", 0,
                "tables overlap or are shared: more bytes to visit than the file has",
            )  # fmt: skip
            raise FaultyDumps({int(dump): fault for dump in self._accounts.dump[over]})
        if self._ceiling is not None and self.visited.sum() > self._ceiling:
            raise PartTooLarge

    def follow(self, words: Ints, owner: Ints) -> Ints:
        """Targets of the forward offsets at `words`, checked to be within bounds.

        Raises:
            FaultyDumps: An offset is zero, negative, misaligned or leads out of bounds.
        """
        offsets = self.arena.i32[words]
        targets: Ints = words + (offsets >> 2)
        ok = (offsets > 0) & (offsets & 3 == 0)
        ok &= targets * 4 + 4 <= self.of_owner(self.end, owner)
        self.require(
            ok, owner, words * 4, reason="offset_out_of_bounds",
            detail="an offset leads out of the file, wanted a 4-aligned place after it",
        )  # fmt: skip
        return targets
