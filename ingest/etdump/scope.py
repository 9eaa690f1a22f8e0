"""Bounds and budgets for reading untrusted dumps. Pure.

Positions are counted in 4-byte words from the start of the arena, as all targets of offsets are
4-aligned. Every offset is checked before it is followed; the first check that fails raises
`FaultyDumps` with each dump at fault, so that the caller can read the others again without these.
All arithmetic is 64-bit, so no file can overflow it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracehouse.ingest.etdump.arena import Arena, Fault, FaultyDumps, Ints, Mask


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
