"""Where everything stands in a well-formed ETDump, so that a mutation knows what it breaks."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from tests.support.etdump_schema import SCALARS, TABLES
from tests.support.reference_reader import is_size_prefixed


class Reference(NamedTuple):
    """An offset: where it stands, where it leads, and what is there by the schema."""

    at: int
    target: int
    type: str


class Vector(NamedTuple):
    """A vector of offsets: where its length stands, its length and the type of its items."""

    at: int
    length: int
    item: str


@dataclass
class Anatomy:
    """Byte positions in one dump.

    Attributes:
        is_prefixed: Whether the dump starts with its length.
        references: Offsets of every kind, in depth-first order; the first leads to the root.
        tables: Tables, with the name of their type.
        vtables: Vtables, by where they stand; their sizes.
        lengths: Lengths of vectors and strings.
        vectors: Vectors of offsets.
        scalars: Scalars that are written, with their width.
    """

    is_prefixed: bool
    references: list[Reference] = field(default_factory=list)
    tables: list[tuple[int, str]] = field(default_factory=list)
    vtables: dict[int, int] = field(default_factory=dict)
    lengths: list[int] = field(default_factory=list)
    vectors: list[Vector] = field(default_factory=list)
    scalars: list[tuple[int, int]] = field(default_factory=list)

    def pieces(self, size: int) -> list[tuple[int, int]]:
        """Each run with what follows it, up to the next run's table or the end of the dump."""
        starts = sorted({at for at, name in self.tables if name == "RunData"})
        return list(pairwise([*starts, size]))


def dissect(dump: bytes) -> Anatomy:
    """The anatomy of a dump that the reference reader accepts."""
    anatomy = Anatomy(is_size_prefixed(dump))
    root = 4 * anatomy.is_prefixed
    pending = [Reference(root, root + _uint32(dump, root), "ETDump")]
    while pending:
        reference = pending.pop()
        anatomy.references.append(reference)
        found = list(_visit(dump, anatomy, reference))
        pending += reversed(found)
    return anatomy


def _visit(dump: bytes, anatomy: Anatomy, reference: Reference) -> Iterator[Reference]:
    _, at, type_ = reference
    if type_ == "string" or type_[1:-1] in SCALARS:
        anatomy.lengths.append(at)
    elif type_.startswith("["):
        item, length = type_[1:-1], _uint32(dump, at)
        anatomy.lengths.append(at)
        anatomy.vectors.append(Vector(at, length, item))
        for place in range(at + 4, at + 4 + 4 * length, 4):
            yield Reference(place, place + _uint32(dump, place), item)
    else:
        yield from _visit_table(dump, anatomy, at, type_)


def _visit_table(dump: bytes, anatomy: Anatomy, at: int, name: str) -> Iterator[Reference]:
    vtable = at - int(struct.unpack_from("<i", dump, at)[0])
    vtable_bytes = int(struct.unpack_from("<H", dump, vtable)[0])
    anatomy.tables.append((at, name))
    anatomy.vtables[vtable] = vtable_bytes
    offsets = struct.unpack_from(f"<{vtable_bytes // 2 - 2}H", dump, vtable + 4)
    for slot, offset in zip(TABLES[name], offsets, strict=False):
        place = at + offset
        if offset and slot.type in SCALARS:
            anatomy.scalars.append((place, struct.calcsize(SCALARS[slot.type])))
        elif offset:
            yield Reference(place, place + _uint32(dump, place), slot.type)


def _uint32(dump: bytes, at: int) -> int:
    return int(struct.unpack_from("<I", dump, at)[0])
