"""Path templates, which extract fields of the manifest from the path of a dump."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Sequence

from tracehouse.ingest.errors import ManifestError

_TOKENS = re.compile(r"(\*\*/|\*\*|\*|\?|\{[^{}/]*\})")
_REPEATED = ("**/", "**", "*")


class PathTemplate:
    """A template that finds fields in a path, in time linear in the length of the path."""

    def __init__(self, pieces: Sequence[str]) -> None:
        """Accept the pieces: literal texts, wildcards and fields in braces."""
        self._pieces = pieces

    def find(self, path: str) -> dict[str, str] | None:
        """The values of the fields; None if the end of the path does not match."""
        ends = [-1] * len(path) + [len(path)]
        found: list[tuple[str, list[int]]] = []
        for piece in reversed(self._pieces):
            ends = _find_ends(piece, path, ends)
            found.append((piece, ends))
        starts = (0, *(i + 1 for i, character in enumerate(path) if character == "/"))
        at = max((start for start in starts if ends[start] >= 0), default=None)
        if at is None:
            return None
        values = {}
        for piece, ends in reversed(found):
            if piece.startswith("{"):
                values[piece[1:-1]] = path[at : ends[at]]
            at = ends[at]
        return values


def _find_ends(piece: str, path: str, later: Sequence[int]) -> list[int]:
    """For each start in the path, the last position where a piece may end; -1 for no match."""
    size = len(path)
    if piece.startswith("{"):  # one character, then as many others as possible
        others = _find_ends("*", path, later)
        return [others[i + 1] if path[i] != "/" else -1 for i in range(size)] + [-1]
    if piece not in _REPEATED:
        count = 1 if piece == "?" else len(piece)
        fits = [
            i + count <= size
            and later[i + count] >= 0
            and (path[i] != "/" if piece == "?" else path.startswith(piece, i))
            for i in range(size + 1)
        ]
        return [i + count if fits[i] else -1 for i in range(size + 1)]
    ends = [i if later[i] >= 0 else -1 for i in range(size + 1)]
    after_segment = -1
    for i in range(size - 1, -1, -1):
        if path[i] == "/":
            after_segment = i + 1
        if piece == "**/":
            further = after_segment if path[i] != "/" else -1
        else:
            further = i + 1 if piece == "**" or path[i] != "/" else -1
        if further >= 0 and ends[further] >= 0:
            ends[i] = ends[further]
    return ends


def parse_layout(template: str, fields: Collection[str]) -> PathTemplate:
    """The template in a text.

    A template matches the end of a path. ``{field}`` takes as much of one path segment as possible,
    ``*`` and ``?`` stay within a segment, and ``**`` stands for as few segments as possible.

    >>> parse_layout("{model}-{backend}/*.etdp", ["model", "backend"]).find(
    ...     "/farm/mobilenet-v2-xnnpack/000.etdp")
    {'model': 'mobilenet-v2', 'backend': 'xnnpack'}

    Raises:
        ManifestError: if a field is unknown or used twice, or a brace has no partner.
    """
    pieces = [piece for piece in _TOKENS.split(template) if piece]
    for piece in pieces:
        _check(piece, template, fields)
    names = [piece for piece in pieces if piece.startswith("{")]
    if len(set(names)) < len(names) or not names:
        raise ManifestError(_where(template), "wanted at least one field, each only once")
    return PathTemplate(pieces)


def _check(piece: str, template: str, fields: Collection[str]) -> None:
    if piece.startswith("{") and piece.endswith("}"):
        name = piece[1:-1]
        if name not in fields:
            near = difflib.get_close_matches(name, fields, n=1)
            hint = f"did you mean {{{near[0]}}}? " if near else ""
            wanted = ", ".join(fields)
            raise ManifestError(_where(template), f"no field {piece}; {hint}wanted {wanted}")
    elif "{" in piece or "}" in piece:
        raise ManifestError(_where(template), "a brace has no partner, wanted {field}")


def _where(template: str) -> str:
    return f"layout {template!r}"
