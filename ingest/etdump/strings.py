"""Strings of an arena, dictionary-encoded by content. Pure."""

from __future__ import annotations

import numpy as np

from tracehouse.ingest.etdump.arena import Arena, Ints, Mask

_SHORT = 64  # bytes; longer strings are rare and are read one by one
_FEW = 512  # fewer strings are read one by one
_PRIMES = np.random.default_rng(20261121).integers(2**62, 2**63, _SHORT // 4 + 1, np.uint64) | 1


def encode_strings(arena: Arena, word: Ints, length: Ints) -> tuple[Ints, list[bytes]]:
    """Dictionary-encode strings exactly; hashes only select candidates.

    Args:
        arena: The arena.
        word: Word of each string's length; the text starts at the next word.
        length: Bytes of each string.

    Returns:
        The code of each string, and the texts by code (a text may have several codes).
    """
    codes = np.full(len(word), -1, np.int64)
    texts: list[bytes] = []
    if len(word) >= _FEW:
        _encode_by_size(arena, word, length, codes, texts)
    rows = np.flatnonzero(codes < 0)
    found = _texts(arena, word[rows], length[rows])
    number = {text: code for code, text in enumerate(dict.fromkeys(found), len(texts))}
    codes[rows] = [number[text] for text in found]
    return codes, texts + list(number)


def _encode_by_size(
    arena: Arena, word: Ints, length: Ints, codes: Ints, texts: list[bytes]
) -> None:
    """Fill in the codes of short strings, one size at a time, and append their texts."""
    for size in np.flatnonzero(np.bincount(np.minimum(length, _SHORT + 1))[: _SHORT + 1]).tolist():
        rows = np.flatnonzero(length == size)
        heads, alike = _heads(arena, word[rows], size)
        is_head = np.flatnonzero(heads == np.arange(len(rows)))
        code = np.empty(len(rows), np.int64)
        code[is_head] = np.arange(len(is_head)) + len(texts)
        codes[rows] = np.where(alike, code[heads], -1)
        texts += _texts(arena, word[rows[is_head]], length[rows[is_head]])


def _texts(arena: Arena, word: Ints, length: Ints) -> list[bytes]:
    view, begin = arena.u8.data, word * 4 + 4
    spans = zip(begin.tolist(), (begin + length).tolist(), strict=True)
    return [view[first:end].tobytes() for first, end in spans]


def _heads(arena: Arena, word: Ints, size: int) -> tuple[Ints, Mask]:
    """For each string of one size: a string with the same hash, and whether both are equal."""
    count = (size + 3) // 4
    place = word[:, None] + np.arange(1, count + 1)
    words = arena.i32[np.minimum(place, len(arena.i32) - 1)].view(np.uint32)
    if size % 4:
        words[:, -1] &= np.uint32((1 << 8 * (size % 4)) - 1)
    hashed = (words * _PRIMES[:count]).sum(axis=1, dtype=np.uint64)
    bits = max(len(word).bit_length() + 3, 8)
    slot = (hashed * _PRIMES[-1] >> np.uint64(64 - bits)).astype(np.int64)
    table = np.empty(1 << bits, np.int64)
    table[slot] = np.arange(len(word))
    heads = table[slot]
    return heads, (words == words[heads]).all(axis=1)
