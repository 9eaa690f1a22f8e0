"""FlatBuffers, read column-wise: verified columns of tables, vectors and strings. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ingest.etdump.arena import Ints, Mask, representatives
from ingest.etdump.limits import LONGEST_NAME
from ingest.etdump.scope import Scope


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
        if isinstance(offset, np.integer) and not offset:
            return np.zeros(len(self), np.uint64)
        at = (self.word * 4 + offset) * (offset > 0)  # absent: anywhere
        self.scope.require(
            at & 7 == 0, self.owner, at, reason="misaligned",
            detail="an 8-byte scalar is not 8-aligned",
        )  # fmt: skip
        return np.where(offset > 0, self.scope.arena.u64[at >> 3], np.uint64(0))

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


def read_tables(scope: Scope, word: Ints, owner: Ints, widths: Sequence[int]) -> Tables:
    """Verify a column of tables.

    Args:
        scope: The bounds.
        word: Position of each table, within its owner's bounds.
        owner: Owner of each table.
        widths: Bytes of each slot we know, in slot order; slots beyond are ignored.

    Returns:
        The tables, in the order given.

    Raises:
        FaultyDumps: A vtable, table or field is out of bounds, too small or misaligned.
    """
    if not len(word):
        return Tables(scope, word, owner, np.zeros((0, len(widths)), np.int64), word)
    scope.tables.append((owner, word))
    at = word * 4
    vtable = at - scope.arena.i32[word]
    ok = (vtable >= scope.lo[owner]) & (vtable + 4 <= scope.hi[owner]) & (vtable & 1 == 0)
    scope.require(
        ok, owner, at, reason="vtable_out_of_bounds",
        detail="a table's vtable lies outside the file",
    )  # fmt: skip
    chosen = representatives(vtable >> 1)
    rows = np.flatnonzero(chosen == np.arange(len(chosen)))
    shapes, shape_of = _read_vtables(scope, vtable[rows], owner[rows], widths)
    if len(shapes) == 1:
        shape = np.zeros(len(word), np.int64)
        size: Any = int(shapes[0, 0])
    else:
        dense = np.zeros(len(word), np.int64)
        dense[rows] = shape_of
        shape = dense[chosen]
        size = shapes[:, 0][shape]
    scope.require(
        at + size <= scope.end[owner], owner, at, reason="table_out_of_bounds",
        detail="a table ends past the end of the file",
    )  # fmt: skip
    scope.visit(owner, at, size)
    return Tables(scope, word, owner, shapes[:, 1:], shape)


def _read_vtables(
    scope: Scope, vtable: Ints, owner: Ints, widths: Sequence[int]
) -> tuple[Ints, Ints]:
    """Distinct rows of (table size, offset of each slot), and the row of each vtable."""
    u16, item = scope.arena.u16, vtable >> 1
    vtable_bytes = u16[item].astype(np.int64)
    table_bytes = u16[item + 1].astype(np.int64)
    ok = (vtable_bytes >= 4) & (vtable_bytes & 1 == 0) & (table_bytes >= 4)
    ok &= vtable + vtable_bytes <= scope.hi[owner]
    scope.require(
        ok, owner, vtable, reason="vtable_malformed",
        detail="a vtable is too short, of odd size or ends past the end of the file",
    )  # fmt: skip
    slot = np.arange(len(widths))
    width = np.array(widths, np.int64)
    fields = u16[np.minimum(item[:, None] + 2 + slot, len(u16) - 1)].astype(np.int64)
    fields[(4 + 2 * slot + 2) > vtable_bytes[:, None]] = 0
    ok_field = (fields >= 4) & (fields + width <= table_bytes[:, None])
    ok_field &= fields & (np.minimum(width, 4) - 1) == 0
    scope.require(
        ((fields == 0) | ok_field).all(axis=1), owner, vtable, reason="field_out_of_bounds",
        detail="a vtable puts a field outside its table or misaligned",
    )  # fmt: skip
    rows = np.column_stack([table_bytes, fields])
    if (rows == rows[0]).all():
        return rows[:1], np.zeros(len(rows), np.int64)
    return np.unique(rows, axis=0, return_inverse=True)


def read_vectors(scope: Scope, word: Ints, owner: Ints, item_bytes: int) -> Ints:
    """Lengths of the vectors at `word`, verified; the items start one word further on.

    Raises:
        FaultyDumps: A vector ends out of bounds, or its 8-byte items are misaligned.
    """
    if not len(word):
        return word
    length = scope.arena.i32[word].view(np.uint32).astype(np.int64)
    at = word * 4
    scope.require(
        at + 4 + length * item_bytes <= scope.end[owner], owner, at,
        reason="vector_out_of_bounds",
        detail="a vector or string ends past the end of the file",
    )  # fmt: skip
    if item_bytes == 8:
        scope.require(
            (word & 1 == 1) | (length == 0), owner, at, reason="misaligned",
            detail="a vector of 8-byte items is not 8-aligned",
        )  # fmt: skip
    scope.visit(owner, at, 4 + length * item_bytes)
    return length


def read_strings(scope: Scope, word: Ints, owner: Ints) -> Ints:
    """Byte lengths of the strings at `word`, verified; the text starts one word further on.

    Raises:
        FaultyDumps: A string ends out of bounds, is too long or lacks its terminating NUL.
    """
    if not len(word):
        return word
    length = read_vectors(scope, word, owner, 1)
    scope.require(
        length <= LONGEST_NAME, owner, word * 4, reason="name_too_long",
        detail=f"a name or id of more than {LONGEST_NAME:,} bytes: wanted a shorter one",
    )  # fmt: skip
    end = word * 4 + 4 + length
    ok = (end < scope.end[owner]) & (scope.arena.u8[np.minimum(end, scope.arena.hi[-1] - 1)] == 0)
    scope.require(
        ok, owner, end, reason="string_unterminated", detail="a string does not end in a NUL"
    )
    scope.visit(owner, end, 1)
    return length


def expand_vectors(word: Ints, length: Ints) -> tuple[Ints, Ints, Ints]:
    """Items of vectors of 4-byte items: (row of the vector, index in it, word), in order."""
    row = np.repeat(np.arange(len(word)), length)
    index = np.arange(len(row)) - np.repeat(np.cumsum(length) - length, length)
    return row, index, word[row] + 1 + index
