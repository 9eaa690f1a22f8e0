"""JSON parsing in bounded memory, restricted to texts and integers that Arrow can hold. Pure."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress

# A comma, colon or bracket takes up to 75 bytes of parsed values: 75 MB, and 10 per byte of text.
FREE_MARKS = 1_000_000
BYTES_PER_MARK = 8  # programs exported by torch have 13 to 20

_MARKS = ",:[{"


def parse_json(text: str | bytes) -> object:
    """The value of a JSON text.

    Raises:
        DuplicateKeyError: An object has a key twice.
        ValueError: The text is not JSON, contains invalid Unicode, or has too many values for its
            size.
        RecursionError: The text is nested too deeply.
    """
    if isinstance(text, bytes):
        text = text.decode()  # json.loads would accept other encodings
    _check_marks(text)
    try:
        value: object = _DECODER.decode(text)
    except DuplicateKeyError:
        raise
    except ValueError as error:
        raise ValueError(f"is not JSON ({error})") from error
    if "\\ud" in text or "\\uD" in text:
        json.dumps(value, ensure_ascii=False).encode()  # fails on half a surrogate pair
    return value


class DuplicateKeyError(ValueError):
    """An object has a key twice, which parsers read differently."""


def unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """The object with these pairs, for `json.loads`.

    Raises:
        DuplicateKeyError: Two pairs have the same key.
    """
    known = dict(pairs)
    if len(known) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise DuplicateKeyError(f"has the key {twice!r:.60} twice in one object, wanted once")
    return known


_DECODER = json.JSONDecoder(object_pairs_hook=unique_keys)


def parse_integer(value: object, *, bits: int = 64) -> int:
    """The integer value of a number or text.

    Raises:
        ValueError: The value is not an integer, or takes more than this many bits.
    """
    if isinstance(value, int | str) and not isinstance(value, bool):
        with suppress(ValueError):
            number = int(value)
            if -1 <= number >> (bits - 1) <= 0:
                return number
    raise ValueError(f"found {describe(value)}, wanted an integer of {bits} bits")


def describe(value: object) -> str:
    """A short description of the value, for messages."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    return quote(value)


def quote(value: object) -> str:
    """The value's `repr`, shortened, for messages."""
    try:
        return f"{value!r:.60}"
    except (ValueError, RecursionError):  # an integer of too many digits; nested too deeply
        return f"a value of type {type(value).__name__}"


def _check_marks(text: str) -> None:
    most = FREE_MARKS + len(text) // BYTES_PER_MARK
    if len(text) <= most:
        return
    count = sum(map(text.count, _MARKS))
    if count > most:
        raise ValueError(f"has {count:,} commas, colons and brackets, wanted at most {most:,}")
