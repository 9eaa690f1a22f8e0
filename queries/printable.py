"""Texts of a dump, escaped and shortened for terminals, logs and JSON.

A character is escaped if Unicode classifies it as a control, format or surrogate character, a line
or paragraph separator, a space other than U+0020, private use or unassigned. This includes C0, DEL,
C1, bidirectional marks and zero-width characters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

ELLIPSIS = "…"

_NOT_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def printable(text: str) -> str:
    r"""The text with line breaks and control characters escaped, so that it is safe on a terminal.

    >>> printable("a\x1b[2J")
    'a\\x1b[2J'
    """
    return _escape(text, repr)


def json_text(value: object) -> str:
    r"""The value as one line of JSON, with ``\u`` escapes for all characters `printable` escapes.

    A float that is not finite raises ValueError.

    >>> json_text({"größe": "\x7f"})
    '{"größe": "\\u007f"}'
    """
    return _escape(_ENCODER.encode(value), json.dumps)


def xml_text(text: str) -> str:
    r"""The text with escapes for the characters that no XML can contain, not even as references.

    >>> xml_text("a\x1b&\uffff")
    'a\\x1b&\\uffff'
    """
    return _NOT_IN_XML.sub(lambda found: repr(found.group())[1:-1], text)


def shorten(text: str, most: int) -> str:
    """The text, or its beginning and end around an ellipsis, with at most `most` characters.

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
