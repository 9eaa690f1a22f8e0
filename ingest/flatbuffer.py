"""FlatBuffers, read column-wise: verified columns of tables, vectors and strings. Pure.

Positions are counted in 4-byte words from the start of the arena, because everything that can be
pointed at is 4-aligned. Every offset is checked before it is followed; the first check that fails
raises `FaultyDumps`, which names each dump at fault, so that a caller drops those and reads the
rest again. All arithmetic is 64-bit, so no file can overflow it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ingest.arena import Arena, Fault, FaultyDumps, Ints, Mask


@dataclass(frozen=True)
class _Accounts:
    """Account of each owner; dump and budget in bytes of each account."""

    of_owner: Ints
    dump: Ints
    budget: Ints


class Scope:
    """The bounds within which tables may be read, and an account of the bytes they take.

    Each row of a column has an owner, which says what its offsets must not leave. A writer never
    shares tables, so visiting more bytes than there are is the mark of a bomb; refusing it bounds
    time and memory by the file's size.

    Attributes:
        arena: Where everything is.
        dump: Dump of each owner; its vtables may stand anywhere in the dump.
        end: Byte that the owner's tables, vectors and strings must not pass.
        visited: Bytes visited, per account.
        tables: (owner, word) of every column of tables read so far.
    """

    def __init__(self, arena: Arena, dump: Ints, end: Ints, *, accounts: _Accounts) -> None:
        """Open a scope; see the two class methods."""
        self.arena, self.dump, self.end = arena, dump, end
        self.visited: Ints = np.zeros(len(accounts.budget), np.int64)
        self.tables: list[tuple[Ints, Ints]] = []
        self._accounts = accounts
        self._lo, self._hi = arena.lo[dump], arena.hi[dump]

    @classmethod
    def of_dumps(cls, arena: Arena, dump: Ints) -> Scope:
        """Owners may refer to anything in their dump; one account per dump."""
        everyone = np.arange(len(arena.lo))
        accounts = _Accounts(dump, everyone, arena.hi - arena.lo)
        return cls(arena, dump, arena.hi[dump], accounts=accounts)

    @classmethod
    def of_pieces(cls, arena: Arena, dump: Ints, begin: Ints, end: Ints) -> Scope:
        """Owners may refer to nothing past the end of their piece; one account per owner."""
        accounts = _Accounts(np.arange(len(dump)), dump, end - begin)
        return cls(arena, dump, end, accounts=accounts)

    def require(self, ok: Mask, owner: Ints, at: Ints, *, reason: str, detail: str) -> None:
        """Pass if all of `ok` holds.

        Args:
            ok: What must hold, per row.
            owner: Owner of each row.
            at: Byte position in the arena that each row's check is about.
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

    def visit(self, owner: Ints, byte_counts: Ints | int) -> None:
        """Count bytes as read, once per visit.

        Raises:
            FaultyDumps: An account's visited bytes exceed its budget.
        """
        weights = None if isinstance(byte_counts, int) else byte_counts
        account = self._accounts.of_owner[owner]
        counts = np.bincount(account, weights, len(self.visited)).astype(np.int64)
        self.charge(counts * byte_counts if weights is None else counts)

    def charge(self, byte_counts: Ints) -> None:
        """Count bytes per account as read.

        Raises:
            FaultyDumps: An account's visited bytes exceed its budget.
        """
        self.visited += byte_counts
        over = np.flatnonzero(self.visited > self._accounts.budget)
        if len(over):
            fault = Fault(
                "shared_bytes", 0,
                "tables overlap or are shared: more bytes to visit than the file has",
            )  # fmt: skip
            raise FaultyDumps({int(dump): fault for dump in self._accounts.dump[over]})

    def follow(self, words: Ints, owner: Ints) -> Ints:
        """Targets of the forward offsets stored at `words`, checked to lie within bounds.

        Raises:
            FaultyDumps: An offset is zero, negative, misaligned or leads out of bounds.
        """
        offsets = self.arena.i32[words]
        targets: Ints = words + (offsets >> 2)
        ok = (offsets > 0) & (offsets & 3 == 0) & (targets * 4 + 4 <= self.end[owner])
        self.require(
            ok, owner, words * 4, reason="offset_out_of_bounds",
            detail="an offset leads out of the file, wanted a 4-aligned place after it",
        )  # fmt: skip
        return targets

    def read_tables(self, word: Ints, owner: Ints, widths: Sequence[int]) -> Tables:
        """Verify a column of tables.

        Args:
            word: Position of each table, within its owner's bounds.
            owner: Owner of each table.
            widths: Bytes of each slot we know, in slot order; slots beyond are ignored.

        Returns:
            The tables, in the order given.

        Raises:
            FaultyDumps: A vtable, table or field is out of bounds, too small or misaligned.
        """
        if not len(word):
            return Tables(self, word, owner, np.zeros((0, len(widths)), np.int64), word)
        self.tables.append((owner, word))
        at = word * 4
        vtable = at - self.arena.i32[word]
        ok = (vtable >= self._lo[owner]) & (vtable + 4 <= self._hi[owner]) & (vtable & 1 == 0)
        self.require(
            ok, owner, at, reason="vtable_out_of_bounds",
            detail="a table's vtable lies outside the file",
        )  # fmt: skip
        chosen = self.arena.representatives(vtable >> 1)
        rows = np.flatnonzero(chosen == np.arange(len(chosen)))
        shapes, shape_of = self._read_vtables(vtable[rows], owner[rows], widths)
        if len(shapes) == 1:
            shape = np.zeros(len(word), np.int64)
            size: Any = int(shapes[0, 0])
        else:
            dense = np.zeros(len(word), np.int64)
            dense[rows] = shape_of
            shape = dense[chosen]
            size = shapes[:, 0][shape]
        self.require(
            at + size <= self.end[owner], owner, at, reason="table_out_of_bounds",
            detail="a table ends past the end of the file",
        )  # fmt: skip
        self.visit(owner, size)
        return Tables(self, word, owner, shapes[:, 1:], shape)

    def _read_vtables(self, vtable: Ints, owner: Ints, widths: Sequence[int]) -> tuple[Ints, Ints]:
        """Distinct rows of (table size, offset of each slot), and the row of each vtable."""
        u16, item = self.arena.u16, vtable >> 1
        vtable_bytes = u16[item].astype(np.int64)
        table_bytes = u16[item + 1].astype(np.int64)
        ok = (vtable_bytes >= 4) & (vtable_bytes & 1 == 0) & (table_bytes >= 4)
        ok &= vtable + vtable_bytes <= self._hi[owner]
        self.require(
            ok, owner, vtable, reason="vtable_malformed",
            detail="a vtable is too short, of odd size or ends past the end of the file",
        )  # fmt: skip
        slot = np.arange(len(widths))
        width = np.array(widths, np.int64)
        fields = u16[item[:, None] + 2 + slot].astype(np.int64)
        fields[(4 + 2 * slot + 2) > vtable_bytes[:, None]] = 0
        ok_field = (fields >= 4) & (fields + width <= table_bytes[:, None])
        ok_field &= fields & (np.minimum(width, 4) - 1) == 0
        self.require(
            ((fields == 0) | ok_field).all(axis=1), owner, vtable, reason="field_out_of_bounds",
            detail="a vtable puts a field outside its table or misaligned",
        )  # fmt: skip
        rows = np.column_stack([table_bytes, fields])
        if (rows == rows[0]).all():
            return rows[:1], np.zeros(len(rows), np.int64)
        return np.unique(rows, axis=0, return_inverse=True)

    def read_vectors(self, word: Ints, owner: Ints, item_bytes: int) -> Ints:
        """Lengths of the vectors at `word`, verified; the items start one word further on.

        Raises:
            FaultyDumps: A vector ends out of bounds, or its 8-byte items are misaligned.
        """
        if not len(word):
            return word
        length = self.arena.i32[word].view(np.uint32).astype(np.int64)
        at = word * 4
        self.require(
            at + 4 + length * item_bytes <= self.end[owner], owner, at,
            reason="vector_out_of_bounds",
            detail="a vector or string ends past the end of the file",
        )  # fmt: skip
        if item_bytes == 8:
            self.require(
                (word & 1 == 1) | (length == 0), owner, at, reason="misaligned",
                detail="a vector of 8-byte items is not 8-aligned",
            )  # fmt: skip
        self.visit(owner, 4 + length * item_bytes)
        return length

    def read_strings(self, word: Ints, owner: Ints) -> Ints:
        """Byte lengths of the strings at `word`, verified; the text starts one word further on.

        Raises:
            FaultyDumps: A string ends out of bounds or lacks its terminating NUL.
        """
        if not len(word):
            return word
        length = self.read_vectors(word, owner, 1)
        end = word * 4 + 4 + length
        ok = (end < self.end[owner]) & (self.arena.u8[end] == 0)
        self.require(
            ok, owner, end, reason="string_unterminated", detail="a string does not end in a NUL"
        )
        self.visit(owner, 1)
        return length


@dataclass(frozen=True)
class Tables:
    """A column of tables of one type whose vtables have been verified.

    Attributes:
        word: Position of each table.
        owner: Owner of each table.
        fields: One row per distinct shape: offset of each slot within the table, 0 if absent.
        shape: Row of `fields` per table.
    """

    scope: Scope
    word: Ints
    owner: Ints
    fields: Ints
    shape: Ints

    def __len__(self) -> int:
        return len(self.word)

    def has(self, slot: int) -> Mask:
        """Whether each table has the slot."""
        present: Mask = self.fields[:, slot] > 0
        if len(present) == 1:
            return np.full(len(self), present[0])
        return present[self.shape]

    def offset(self, slot: int) -> Ints | np.int64:
        """Byte offset of the slot within each table (a scalar where all agree), 0 if absent."""
        offsets = self.fields[:, slot]
        if len(offsets) and (offsets == offsets[0]).all():
            return np.int64(offsets[0])
        return offsets[self.shape]

    def int32(self, slot: int, default: int) -> NDArray[np.int32]:
        """A 4-byte signed scalar of each table."""
        offset = self.offset(slot)
        values = self.scope.arena.i32[self.word + (offset >> 2)]
        if isinstance(offset, np.integer):
            return values if offset else np.full(len(self), default, np.int32)
        return np.where(offset > 0, values, np.int32(default))

    def uint8(self, slot: int, default: int = 0) -> NDArray[np.uint8]:
        """A 1-byte scalar of each table."""
        offset = self.offset(slot)
        return np.where(offset > 0, self.scope.arena.u8[self.word * 4 + offset], np.uint8(default))

    def uint64(self, slot: int) -> NDArray[np.uint64]:
        """An 8-byte scalar of each table, 0 if absent.

        Raises:
            FaultyDumps: A scalar is not 8-aligned.
        """
        offset = self.offset(slot)
        at = self.word * 4 + offset
        self.scope.require(
            (at & 7 == 0) | (offset == 0), self.owner, at, reason="misaligned",
            detail="an 8-byte scalar is not 8-aligned",
        )  # fmt: skip
        values = self.scope.arena.u64[at >> 3]
        if isinstance(offset, np.integer):
            return values if offset else np.zeros(len(self), np.uint64)
        return np.where(offset > 0, values, np.uint64(0))

    def refs(self, slot: int) -> tuple[Ints, Ints, Ints]:
        """Where the slot's offsets lead: (rows that have the slot, target words, their owners).

        Raises:
            FaultyDumps: An offset leads out of its dump.
        """
        rows = np.flatnonzero(self.has(slot))
        if not len(rows):
            return rows, rows, rows
        if len(rows) == len(self):
            words, owner, offset = self.word, self.owner, self.offset(slot)
        else:
            words, owner = self.word[rows], self.owner[rows]
            offset = self.fields[self.shape[rows], slot]
        return rows, self.scope.follow(words + (offset >> 2), owner), owner


def expand_vectors(word: Ints, length: Ints) -> tuple[Ints, Ints, Ints]:
    """Items of vectors of 4-byte items: (row of the vector, index in it, word), in order."""
    row = np.repeat(np.arange(len(word)), length)
    index = np.arange(len(row)) - np.repeat(np.cumsum(length) - length, length)
    return row, index, word[row] + 1 + index
