"""FlatBuffers, read column-wise: verified columns of tables, vectors and strings. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracehouse.ingest.etdump.arena import LONGEST_NAME, Ints, Mask, Scope, representatives

_FEW = 64  # fewer vtables are looked up one by one and cached
_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True)
class TableColumn:
    """A column of tables of one type whose vtables have been verified.

    Attributes:
        word: Position of each table.
        owner: Owner of each table.
        fields: One row per distinct shape: offset of each slot within the table, 0 if absent.
        shape: Row of `fields` per table.
        least, most: Lowest and highest offset of each slot; equal if all tables agree.
    """

    scope: Scope
    word: Ints
    owner: Ints
    fields: Ints
    shape: Ints
    least: list[int]
    most: list[int]

    def __len__(self) -> int:
        return len(self.word)

    def has(self, slot: int) -> Mask:
        """Whether each table has the slot."""
        if self.least[slot] or not self.most[slot]:
            return np.full(len(self), self.most[slot] > 0)
        present: Mask = (self.fields[:, slot] > 0)[self.shape]
        return present

    def offset(self, slot: int) -> Ints | int:
        """Byte offset of the slot within each table (one number if all agree), 0 if absent."""
        if self.least[slot] == self.most[slot]:
            return self.most[slot]
        offsets: Ints = self.fields[:, slot][self.shape]
        return offsets

    def int32(self, slot: int, default: int) -> NDArray[np.int32]:
        """A 4-byte signed scalar of each table."""
        if not self.most[slot]:
            return np.full(len(self), default, np.int32)
        offset = self.offset(slot)
        values = self.scope.arena.i32[self.word + (offset >> 2)]
        return values if self.least[slot] else np.where(offset > 0, values, np.int32(default))

    def uint8(self, slot: int, default: int = 0) -> NDArray[np.uint8]:
        """A 1-byte scalar of each table."""
        if not self.most[slot]:
            return np.full(len(self), default, np.uint8)
        offset = self.offset(slot)
        return np.where(offset > 0, self.scope.arena.u8[self.word * 4 + offset], np.uint8(default))

    def uint64(self, slot: int) -> NDArray[np.uint64]:
        """An 8-byte scalar of each table, 0 if absent.

        Raises:
            FaultyDumps: A scalar is not 8-aligned.
        """
        if not self.most[slot]:
            return np.zeros(len(self), np.uint64)
        offset = self.offset(slot)
        at = self.word * 4 + offset
        if not self.least[slot]:
            at *= offset > 0  # absent: anywhere
        self.scope.require(
            at & 7 == 0, self.owner, at, reason="misaligned",
            detail="an 8-byte scalar is not 8-aligned",
        )  # fmt: skip
        values = self.scope.arena.u64[at >> 3]
        return values if self.least[slot] else np.where(offset > 0, values, np.uint64(0))

    def refs(self, slot: int) -> tuple[Ints, Ints, Ints]:
        """Targets of the slot's offsets: (rows that have the slot, target words, their owners).

        Raises:
            FaultyDumps: An offset leads out of its dump.
        """
        if not self.most[slot]:
            return _NONE, _NONE, _NONE
        if self.least[slot]:
            rows, words, owner = np.arange(len(self)), self.word, self.owner
            offset = self.offset(slot)
        else:
            rows = self.has(slot).nonzero()[0]
            words, owner = self.word[rows], self.owner[rows]
            offset = self.fields[self.shape[rows], slot]
        return rows, self.scope.follow(words + (offset >> 2), owner), owner


def read_tables(scope: Scope, word: Ints, owner: Ints, widths: tuple[int, ...]) -> TableColumn:
    """Verify a column of tables.

    Args:
        scope: The bounds.
        word: Position of each table, within its owner's bounds.
        owner: Owner of each table.
        widths: Bytes of each known slot, in order; further slots are ignored.

    Returns:
        The tables, in the order given.

    Raises:
        FaultyDumps: A vtable, table or field is out of bounds, too small or misaligned.
    """
    if not len(word):
        none = [0] * len(widths)
        return TableColumn(
            scope, word, owner, np.zeros((0, len(widths)), np.int64), word, none, none
        )
    scope.tables.append((owner, word))
    at = word * 4
    vtable = at - scope.arena.i32[word]
    ok = (vtable >= scope.of_owner(scope.lo, owner)) & (vtable & 1 == 0)
    ok &= vtable + 4 <= scope.of_owner(scope.hi, owner)
    scope.require(
        ok, owner, at, reason="vtable_out_of_bounds",
        detail="a table's vtable lies outside the file",
    )  # fmt: skip
    shapes, shape = _find_shapes(scope, vtable, owner, widths)
    size: Ints | int = int(shapes[0, 0]) if len(shapes) == 1 else shapes[:, 0][shape]
    scope.require(
        at + size <= scope.of_owner(scope.end, owner), owner, at, reason="table_out_of_bounds",
        detail="a table ends past the end of the file",
    )  # fmt: skip
    scope.visit(owner, at, size)
    fields = shapes[:, 1:]
    least, most = fields.min(axis=0).tolist(), fields.max(axis=0).tolist()
    return TableColumn(scope, word, owner, fields, shape, least, most)


def _find_shapes(
    scope: Scope, vtable: Ints, owner: Ints, widths: tuple[int, ...]
) -> tuple[Ints, Ints]:
    """Distinct rows of (table size, offset of each slot), and the row of each table."""
    if (vtable == vtable[0]).all():
        shapes, _ = _read_vtables(scope, vtable[:1], owner[:1], widths)
        return shapes, np.zeros(len(vtable), np.int64)
    chosen = representatives(vtable >> 1)
    rows = (chosen == np.arange(len(chosen))).nonzero()[0]
    shapes, shape_of = _read_vtables(scope, vtable[rows], owner[rows], widths)
    if len(shapes) == 1:
        return shapes, np.zeros(len(vtable), np.int64)
    dense = np.zeros(len(vtable), np.int64)
    dense[rows] = shape_of
    return shapes, dense[chosen]


def _read_vtables(
    scope: Scope, vtable: Ints, owner: Ints, widths: tuple[int, ...]
) -> tuple[Ints, Ints]:
    """Distinct rows of (table size, offset of each slot), and the row of each vtable."""
    if len(vtable) > _FEW:
        shapes = _verify_vtables(scope, vtable, owner, widths)
        if (shapes == shapes[0]).all():
            return shapes[:1], np.zeros(len(shapes), np.int64)
        return np.unique(shapes, axis=0, return_inverse=True)
    known = scope.arena.vtables
    keys = [(at, widths) for at in vtable.tolist()]
    new = [i for i, key in enumerate(keys) if key not in known]
    if new:
        read = _verify_vtables(scope, vtable[new], owner[new], widths).tolist()
        known.update((keys[i], tuple(row)) for i, row in zip(new, read, strict=True))
    numbers: dict[tuple[int, ...], int] = {}
    shape = [numbers.setdefault(known[key], len(numbers)) for key in keys]
    return np.array(list(numbers), np.int64), np.array(shape, np.int64)


def _verify_vtables(scope: Scope, vtable: Ints, owner: Ints, widths: Sequence[int]) -> Ints:
    """A row of (table size, offset of each slot) per vtable."""
    u16, item = scope.arena.u16, vtable >> 1
    vtable_bytes = u16[item].astype(np.int64)
    table_bytes = u16[item + 1].astype(np.int64)
    ok = (vtable_bytes >= 4) & (vtable_bytes & 1 == 0) & (table_bytes >= 4)
    ok &= vtable + vtable_bytes <= scope.of_owner(scope.hi, owner)
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
    return np.concatenate([table_bytes[:, None], fields], axis=1)


def read_vectors(scope: Scope, word: Ints, owner: Ints, item_bytes: int) -> Ints:
    """Verified lengths of the vectors at `word`; the items start at the next word.

    Raises:
        FaultyDumps: A vector ends out of bounds, or its 8-byte items are misaligned.
    """
    if not len(word):
        return word
    length = scope.arena.i32[word].view(np.uint32).astype(np.int64)
    at = word * 4
    scope.require(
        at + 4 + length * item_bytes <= scope.of_owner(scope.end, owner), owner, at,
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
    """Verified byte lengths of the strings at `word`; the text starts at the next word.

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
    ok = scope.arena.u8[np.minimum(end, scope.arena.hi[-1] - 1)] == 0
    ok &= end < scope.of_owner(scope.end, owner)
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
