"""JSON whose texts and integers an Arrow table can hold. Pure."""

from __future__ import annotations

import json
from contextlib import suppress


def parse_json(text: str | bytes) -> object:
    """The value of a JSON text.

    Raises:
        ValueError: It is no JSON, or a text in it is no Unicode.
        RecursionError: It is nested too deeply.
    """
    if isinstance(text, bytes):
        text = text.decode()  # which json.loads would do leniently
    try:
        value: object = json.loads(text)
    except ValueError as error:
        raise ValueError(f"is no JSON ({error})") from error
    if "\\ud" in text or "\\uD" in text:
        json.dumps(value, ensure_ascii=False).encode()  # fails on half a surrogate pair
    return value


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
    return f"{value!r:.60}"
