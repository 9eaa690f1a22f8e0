"""JSON whose texts and integers an Arrow table can hold, and which takes bounded memory. Pure."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress

# Parsed, each comma, colon or bracket takes up to 75 bytes: 75 MB, and 10 per byte of the text.
FREE_MARKS = 1_000_000
BYTES_PER_MARK = 8  # programs that torch exports have 13 to 20

_MARKS = ",:[{"


def parse_json(text: str | bytes) -> object:
    """The value of a JSON text.

    Raises:
        DuplicateKeyError: A key is stated twice in an object.
        ValueError: It is no JSON, a text in it is no Unicode, or its values are too many for its
            size.
        RecursionError: It is nested too deeply.
    """
    if isinstance(text, bytes):
        text = text.decode()  # which json.loads would do leniently
    _check_marks(text)
    try:
        value: object = json.loads(text, object_pairs_hook=unique_keys)
    except DuplicateKeyError:
        raise
    except ValueError as error:
        raise ValueError(f"is no JSON ({error})") from error
    if "\\ud" in text or "\\uD" in text:
        json.dumps(value, ensure_ascii=False).encode()  # fails on half a surrogate pair
    return value


class DuplicateKeyError(ValueError):
    """A key stands twice in one object, which parsers read differently."""


def unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """The object of these pairs, for `json.loads`.

    Raises:
        DuplicateKeyError: Two have the same key.
    """
    known = dict(pairs)
    if len(known) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise DuplicateKeyError(f"has the key {twice!r:.60} twice in one object, wanted once")
    return known


def parse_integer(value: object, *, bits: int = 64) -> int:
    """The integer that a number or a text is; a table must be able to hold it.

    Raises:
        ValueError: It is no integer, or takes more than so many bits.
    """
    if isinstance(value, int | str) and not isinstance(value, bool):
        with suppress(ValueError):
            number = int(value)
            if -1 <= number >> (bits - 1) <= 0:
                return number
    raise ValueError(f"found {describe(value)}, wanted an integer of {bits} bits")


def describe(value: object) -> str:
    """The value in short, for messages."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    return quote(value)


def quote(value: object) -> str:
    """The value as Python writes it, cut, for messages."""
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
