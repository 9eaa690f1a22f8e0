"""Texts of a dump as a terminal, a log or a JSON reader may see them: escaped, and of some length.

A character is escaped if Unicode calls it a control, format or surrogate character, a line or
paragraph separator, a space other than the usual one, for private use or unassigned: C0, DEL, C1,
all bidirectional marks and zero-width characters are among them.
"""

from __future__ import annotations

import json
from collections.abc import Callable

ELLIPSIS = "…"

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def printable(text: str) -> str:
    r"""The text with line ends and control characters escaped: a name must not steer a terminal.

    >>> printable("a\x1b[2J")
    'a\\x1b[2J'
    """
    return _escape(text, repr)


def json_text(value: object) -> str:
    r"""The value as one line of JSON, in which everything `printable` escapes is ``\u`` escaped.

    A float that is not finite raises ValueError.

    >>> json_text({"größe": "\x7f"})
    '{"größe": "\\u007f"}'
    """
    return _escape(_ENCODER.encode(value), json.dumps)


def shorten(text: str, most: int) -> str:
    """The text, or its first three quarters and its end around an ellipsis: `most` characters.

    >>> shorten("abcdefghijklm", 8)
    'abcdef…m'
    """
    if len(text) <= most:
        return text
    tail = most // 4 - 1
    return f"{text[: most - tail - 1]}{ELLIPSIS}{text[len(text) - tail :]}"


def _escape(text: str, quote: Callable[[str], str]) -> str:
    if text.isprintable():
        return text
    strange = (character for character in set(text) if not character.isprintable())
    return text.translate({ord(character): quote(character)[1:-1] for character in strange})
