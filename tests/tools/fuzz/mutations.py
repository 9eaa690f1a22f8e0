"""Mutants of real dumps, structure and all, and bombs: the same seed gives the same bytes.

A mutation changes a victim in place, at positions known from its anatomy; at most one that moves
bytes about comes last. Most mutants get their size prefix mended, to pass the first check.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

from tests.tools.fuzz.anatomy import Anatomy, Reference
from tests.tools.fuzz.bombs import bomb, is_bomb
from tests.tools.fuzz.victims import victims

FAMILY = 64  # neighbouring seeds that half the time share a victim, for repeats across dumps
Mutation = Callable[[bytearray, Anatomy, random.Random], None]

_WORDS = (0, 1, 2, 3, 4, 8, 12, 0x7FFFFFFF, 0x7FFFFFFC, 0x80000000, 0xFFFFFFFC, 0xFFFFFFFF)
_LONGS = (0, 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1)
_STEPS = (-64, -12, -8, -4, -2, -1, 1, 2, 4, 8, 12, 64)


def mutant(seed: int) -> bytes:
    """The mutant of this seed."""
    rng = random.Random(seed)  # noqa: S311
    if is_bomb(seed):
        return bomb(rng)
    family = random.Random(-1 - seed // FAMILY)  # noqa: S311
    dump, anatomy = (family if rng.random() < 0.5 else rng).choice(victims())
    changed = bytearray(dump)
    for mutate in rng.choices(IN_PLACE, k=rng.choice((0, 1, 1, 1, 2, 3))):
        mutate(changed, anatomy, rng)
    if rng.random() < 0.2:
        repeat_run(changed, anatomy, rng)
    if len(changed) == len(dump) and (changed == dump or rng.random() < 0.2):
        rng.choice(MOVING)(changed, anatomy, rng)
    if anatomy.is_prefixed and len(changed) >= 4 and rng.random() < 0.9:
        _put(changed, 0, len(changed) - 4)
    return bytes(changed)


def flip_bits(dump: bytearray, anatomy: Anatomy, rng: random.Random) -> None:
    for _ in range(rng.choice((1, 1, 1, 4))):
        dump[rng.randrange(len(dump))] ^= 1 << rng.randrange(8)


def overwrite_bytes(dump: bytearray, anatomy: Anatomy, rng: random.Random) -> None:
    count = rng.choice((1, 2, 4, 8))
    at = rng.randrange(len(dump) - count + 1)
    dump[at : at + count] = rng.choice((bytes(count), b"\xff" * count, rng.randbytes(count)))


def overwrite_word(dump: bytearray, anatomy: Anatomy, rng: random.Random) -> None:
    _put(dump, 4 * rng.randrange(len(dump) // 4), _odd_word(dump, rng))


def nudge_word(dump: bytearray, anatomy: Anatomy, rng: random.Random) -> None:
    _nudge(dump, 4 * rng.randrange(len(dump) // 4), rng)


def change_reference(dump: bytearray, anatomy: Anatomy, rng: random.Random) -> None:
    _change_word(dump, rng.choice(anatomy.references).at, rng)


def change_length(dump: bytearray, anatomy: Anatomy, rng: random.Random) -> None:
    if anatomy.lengths:
        at = rng.choice(anatomy.lengths)
        fitting = len(dump) - at - 4  # the largest that may fit, for items of 1, 4 and 8 bytes
        _change_word(dump, at, rng, fitting, fitting // 4, fitting // 8, fitting + 1)


def change_vtable_distance(dump: bytearray, anatomy: Anatomy, rng: random.Random) -> None:
    at, _ = rng.choice(anatomy.tables)
    other = at - rng.choice([*anatomy.vtables, 2 * rng.randrange(len(dump) // 2)])
    _change_word(dump, at, rng, other % 2**32)


def change_vtable(dump: bytearray, anatomy: Anatomy, rng: random.Random) -> None:
    vtable, size = rng.choice([*anatomy.vtables.items()])
    at = vtable + 2 * rng.randrange(size // 2)
    other = vtable + 2 * rng.randrange(size // 2)
    (old,) = struct.unpack_from("<H", dump, at)
    swapped = struct.unpack_from("<H", dump, other)[0]
    new = rng.choice((0, 1, 3, 4, 5, 6, 8, 12, 0xFFFF, old + rng.choice(_STEPS), swapped, swapped))
    struct.pack_into("<H", dump, at, new % 2**16)


def share_target(dump: bytearray, anatomy: Anatomy, rng: random.Random) -> None:
    """Two references of one type lead to one table, vector or string."""
    one = rng.choice(anatomy.references)
    _aim(dump, one, rng.choice([r for r in anatomy.references if r.type == one.type]).target)


def confuse_target(dump: bytearray, anatomy: Anatomy, rng: random.Random) -> None:
    """A reference leads to something of another type, or into something."""
    one = rng.choice(anatomy.references)
    _aim(dump, one, rng.choice(anatomy.references).target + rng.choice((0, 0, 4, 8, -4)))


def share_items(dump: bytearray, anatomy: Anatomy, rng: random.Random) -> None:
    """All items of a vector are one."""
    vectors = [vector for vector in anatomy.vectors if vector.length > 1]
    if vectors:
        at, length, item = rng.choice(vectors)
        target = rng.choice([r for r in anatomy.references if r.type == item]).target
        for place in range(at + 4, at + 4 + 4 * length, 4):
            _aim(dump, Reference(place, target, item), target)


def swap_items(dump: bytearray, anatomy: Anatomy, rng: random.Random) -> None:
    one = rng.choice(anatomy.references)
    other = rng.choice([r for r in anatomy.references if r.type == one.type])
    _aim(dump, one, other.target)
    _aim(dump, other, one.target)


def change_scalars(dump: bytearray, anatomy: Anatomy, rng: random.Random) -> None:
    for at, width in rng.sample(anatomy.scalars, min(len(anatomy.scalars), rng.randrange(1, 5))):
        old = int.from_bytes(dump[at : at + width], "little")
        new = rng.choice((rng.choice(_LONGS), old + rng.choice(_STEPS), rng.getrandbits(64)))
        dump[at : at + width] = (new % 256**width).to_bytes(width, "little")


def copy_run(dump: bytearray, anatomy: Anatomy, rng: random.Random) -> None:
    """A run's bytes over those of another of its length."""
    if pieces := anatomy.pieces(len(dump)):
        begin, end = rng.choice(pieces)
        alike = [other for other, stop in pieces if stop - other == end - begin]
        _copy_piece(dump, anatomy, (begin, end), rng.choice(alike), rng.random() < 0.75)


def repeat_run(dump: bytearray, anatomy: Anatomy, rng: random.Random) -> None:
    """A run, whatever became of it, over all others of its length; then some scalars change."""
    if pieces := anatomy.pieces(len(dump)):
        begin, end = rng.choice(pieces)
        for other, stop in pieces:
            if stop - other == end - begin:
                _copy_piece(dump, anatomy, (begin, end), other, True)
        change_scalars(dump, anatomy, rng)


def differ_in_one_word(dump: bytearray, anatomy: Anatomy, rng: random.Random) -> None:
    """A run that was like others is so no more."""
    pieces = [piece for piece in anatomy.pieces(len(dump)) if piece[1] - piece[0] >= 8]
    if pieces:
        begin, end = rng.choice(pieces)
        _nudge(dump, begin + 4 * rng.randrange((end - begin) // 4), rng)


def copy_region(dump: bytearray, anatomy: Anatomy, rng: random.Random) -> None:
    count = 4 * rng.randrange(1, min(len(dump) // 4, 32))
    source, target = (4 * rng.randrange((len(dump) - count) // 4 + 1) for _ in range(2))
    dump[target : target + count] = dump[source : source + count]


def change_head(dump: bytearray, anatomy: Anatomy, rng: random.Random) -> None:
    """Size prefix, identifier or root offset."""
    change = rng.randrange(4)
    if change == 0:
        _change_word(dump, 0, rng, len(dump), len(dump) - 4, len(dump) - 8)
    elif change == 1:
        at = rng.choice((4, 8))
        dump[at : at + 4] = rng.choice((b"ED00", b"ED01", b"ED\0\0", b"ET12"))
    else:
        _change_word(dump, rng.choice((4, 8)), rng)


def truncate(dump: bytearray, anatomy: Anatomy, rng: random.Random) -> None:
    size = rng.choice((rng.randrange(len(dump)), len(dump) - rng.randrange(1, 16)))
    del dump[rng.choice((size, size & ~3)) :]


def extend(dump: bytearray, anatomy: Anatomy, rng: random.Random) -> None:
    count = rng.choice((1, 2, 4, 8, 100, 1000))
    dump += rng.choice((bytes(count), rng.randbytes(count)))


def splice(dump: bytearray, anatomy: Anatomy, rng: random.Random) -> None:
    """The head of this dump and the tail of another."""
    other = rng.choice(victims()).dump
    cut = rng.randrange(len(dump)) & ~3
    dump[cut:] = other[rng.choice((cut, rng.randrange(len(other)) & ~3)) :]


def change_form(dump: bytearray, anatomy: Anatomy, rng: random.Random) -> None:
    """Bare becomes prefixed, prefixed bare; what was 8-aligned is not any more."""
    if anatomy.is_prefixed:
        del dump[:4]
        dump += bytes(rng.choice((0, 4)))
    else:
        dump[:0] = struct.pack("<I", len(dump))


def make_room(dump: bytearray, anatomy: Anatomy, rng: random.Random) -> None:
    """Bytes between or in runs, all references mended: another alignment or another length."""
    places = [at for at, _ in anatomy.tables] + [at for at, _ in anatomy.pieces(len(dump))] * 8
    _insert(dump, anatomy, rng.choice(places), rng.choice((4, 8, 8, 12, 16)))


def multiply_items(dump: bytearray, anatomy: Anatomy, rng: random.Random) -> None:
    """More items in a vector, all of them shared, and at will the bytes to pay for the visits."""
    if anatomy.vectors:
        at, length, item = rng.choice(anatomy.vectors)
        targets = [reference.target for reference in anatomy.references if reference.type == item]
        count = rng.choice((2, 2, 4, 20, 100)) if targets else 0
        begin = at + 4 + 4 * length
        _insert(dump, anatomy, begin, 4 * count)
        _put(dump, at, length + count)
        one = rng.choice(targets or [0])
        for place in range(begin, begin + 4 * count, 4):
            target = rng.choice((one, one, rng.choice(targets)))
            moved = target + 4 * count * (target >= begin)
            _aim(dump, Reference(place, moved, item), moved)
        dump += bytes(rng.choice((0, 40 * count, 400 * count)))


def move_string(dump: bytearray, anatomy: Anatomy, rng: random.Random) -> None:
    """A string or vector of numbers stands at the end of the file, outside its run."""
    leaves = [r for r in anatomy.references if r.type in ("string", "[uint8]", "[int64]")]
    if leaves:
        one = rng.choice(leaves)
        dump += bytes(-len(dump) % 8 + rng.choice((4, 0, 8)))
        copied = dump[one.target : one.target + 256]
        _aim(dump, one, len(dump))
        dump += copied


def move_vtable(dump: bytearray, anatomy: Anatomy, rng: random.Random) -> None:
    """Tables that shared a vtable lead to a copy of it at the end of the file."""
    vtable, size = rng.choice([*anatomy.vtables.items()])
    dump += bytes(-len(dump) % 2)
    share = rng.choice((0.1, 0.5, 1.0))
    for at, _ in anatomy.tables:
        if (at - _get(dump, at) - vtable) % 2**32 == 0 and rng.random() < share:
            _put(dump, at, at - len(dump))
    dump += dump[vtable : vtable + size]
    dump += bytes(rng.choice((0, 0, -len(dump) % 8)))


IN_PLACE: tuple[Mutation, ...] = (
    flip_bits, overwrite_bytes, overwrite_word, nudge_word, change_reference, change_length,
    change_vtable_distance, change_vtable, share_target, confuse_target, share_items, swap_items,
    change_scalars, change_scalars, change_scalars, copy_run, copy_run, copy_run,
    differ_in_one_word, differ_in_one_word, copy_region, swap_items, change_head,
)  # fmt: skip
MOVING: tuple[Mutation, ...] = (
    truncate, extend, splice, change_form, make_room, make_room, make_room, multiply_items,
    multiply_items, move_string, move_string, move_vtable, move_vtable,
)  # fmt: skip


def _put(dump: bytearray, at: int, word: int) -> None:
    struct.pack_into("<I", dump, at, word % 2**32)


def _get(dump: bytes | bytearray, at: int) -> int:
    return int(struct.unpack_from("<I", dump, at)[0])


def _aim(dump: bytearray, reference: Reference, target: int) -> None:
    _put(dump, reference.at, target - reference.at)


def _nudge(dump: bytearray, at: int, rng: random.Random) -> None:
    _put(dump, at, _get(dump, at) + rng.choice(_STEPS))


def _change_word(dump: bytearray, at: int, rng: random.Random, *likely: int) -> None:
    old = _get(dump, at)
    _put(dump, at, rng.choice((_odd_word(dump, rng), old + rng.choice(_STEPS), *likely)))


def _odd_word(dump: bytearray, rng: random.Random) -> int:
    size = len(dump)
    return rng.choice((*_WORDS, size, size - 4, size - 8, 4 * rng.randrange(size // 4)))


def _copy_piece(
    dump: bytearray, anatomy: Anatomy, piece: tuple[int, int], other: int, keeps_vtables: bool
) -> None:
    begin, end = piece
    dump[other : other + end - begin] = dump[begin:end]
    for at, _ in anatomy.tables:
        if keeps_vtables and begin <= at < end:
            _put(dump, at - begin + other, _get(dump, at) + other - begin)


def _insert(dump: bytearray, anatomy: Anatomy, begin: int, count: int) -> None:
    """Zeros before `begin`; every offset and distance across them is mended."""
    old = bytes(dump)
    dump[begin:begin] = bytes(count)
    for at, target, _ in anatomy.references:
        if at < begin <= target:
            _put(dump, at, _get(old, at) + count)
    for at, _ in anatomy.tables:
        distance = struct.unpack_from("<i", old, at)[0]
        moved, crossed = count * (at >= begin), count * (at - distance >= begin)
        _put(dump, at + moved, distance + moved - crossed)
