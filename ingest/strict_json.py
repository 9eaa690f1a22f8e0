"""JSON parsing in bounded memory, restricted to texts and integers that Arrow can hold. Pure."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from contextlib import suppress
from typing import NoReturn

# A comma, colon or bracket takes up to 75 bytes of parsed values: 75 MB, and 10 per byte of text.
FREE_MARKS = 1_000_000
BYTES_PER_MARK = 8  # programs exported by torch have 13 to 20
MAX_DEPTH = 64  # levels of JSON whose numbers are finite
MAX_DIGITS = 300  # digits of an integer in it, which a double can hold

_MARKS = ",:[{"
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|[^\s",:\[\]{}]+', re.DOTALL)


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
    _check_marks(text, FREE_MARKS + len(text) // BYTES_PER_MARK)
    try:
        return _decode(text, _ANY_NUMBERS)
    except DuplicateKeyError:
        raise
    except ValueError as error:
        raise ValueError(f"is not JSON ({error})") from error


def parse_finite_json(text: str, *, most_marks: int) -> object:
    """The value of a JSON text whose numbers are all finite, and that is not nested deeply.

    Raises:
        DuplicateKeyError: An object has a key twice.
        NotJSONError: The text is not JSON, or contains invalid Unicode.
        ValueError: It has a number that is not finite or too long, or more than `most_marks` values
            or MAX_DEPTH levels.
    """
    _check_marks(text, most_marks)
    try:
        value = _decode(text, _FINITE_NUMBERS)
    except DuplicateKeyError:
        raise
    except _NumberError as error:
        place = _find_token(text, error.token)
        raise ValueError(f"{place}: found {error.token:.40}, wanted {error.wanted}") from error
    except ValueError as error:
        raise NotJSONError(str(error)) from error
    except RecursionError:
        pass
    else:
        if not _is_deep(value):
            return value
    raise ValueError(f"nested more than {MAX_DEPTH:,} deep")


def _decode(text: str, decoder: json.JSONDecoder) -> object:
    value: object = decoder.decode(text)
    if "\\ud" in text or "\\uD" in text:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise ValueError("half of a surrogate pair") from error
    return value


class _NumberError(ValueError):
    """A number is not finite or too long."""

    def __init__(self, token: str, wanted: str) -> None:
        super().__init__(token)
        self.token, self.wanted = token, wanted


def _parse_finite(token: str) -> float:
    value = float(token)
    if math.isinf(value):
        raise _NumberError(token, "a number below 1.8e308")
    return value


def _parse_short(token: str) -> int:
    if len(token) > MAX_DIGITS:
        raise _NumberError(token, f"an integer of at most {MAX_DIGITS} digits")
    return int(token)


def _refuse_number(token: str) -> NoReturn:
    raise _NumberError(token, "a finite number, or null")


def _find_token(text: str, token: str) -> str:
    """The place of the first token that is spelt like that."""
    offset = next(one.start() for one in _TOKEN.finditer(text) if one[0] == token)
    line = text.count("\n", 0, offset) + 1
    return f"line {line:,} column {offset - text.rfind(chr(10), 0, offset):,}"


def _is_deep(value: object) -> bool:
    """Whether a value has more than MAX_DEPTH levels of objects and lists."""
    level, depth = [value] if isinstance(value, dict | list) else [], 0
    while level and depth < MAX_DEPTH:
        level = [
            inner
            for one in level
            for inner in (one.values() if isinstance(one, dict) else one)
            if isinstance(inner, dict | list)
        ]
        depth += 1
    return bool(level)


class NotJSONError(ValueError):
    """A text is not JSON; the message is the parser's."""


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


def _check_marks(text: str, most: int) -> None:
    if len(text) <= most:
        return
    count = sum(map(text.count, _MARKS))
    if count > most:
        raise ValueError(f"has {count:,} commas, colons and brackets, wanted at most {most:,}")


_ANY_NUMBERS = json.JSONDecoder(object_pairs_hook=unique_keys)
_FINITE_NUMBERS = json.JSONDecoder(
    parse_float=_parse_finite,
    parse_int=_parse_short,
    parse_constant=_refuse_number,
    object_pairs_hook=unique_keys,
)
