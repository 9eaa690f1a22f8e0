"""Path templates: manifest fields taken from where a dump lies."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection

from ingest.errors import ManifestError

_TOKENS = re.compile(r"(\*\*/|\*\*|\*|\?|\{[^{}/]*\})")
_WILDCARDS = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def parse_layout(template: str, fields: Collection[str]) -> re.Pattern[str]:
    """A pattern whose ``search`` in a path finds the fields of a template as named groups.

    The template matches the end of the path. ``{field}`` takes as much of one path segment as it
    can, ``*`` and ``?`` stay within a segment, ``**`` stands for as few of them as will do.

    >>> parse_layout("{model}-{backend}/*.etdp", ["model", "backend"]).search(
    ...     "/farm/mobilenet-v2-xnnpack/000.etdp").groupdict()
    {'model': 'mobilenet-v2', 'backend': 'xnnpack'}

    Raises:
        ManifestError: if a field is unknown or used twice, or a brace has no partner.
    """
    tokens = _TOKENS.split(template)
    pattern = "".join(_translate(token, template, fields) for token in tokens)
    names = [token for token in tokens if token.startswith("{")]
    if len(set(names)) < len(names) or not names:
        raise ManifestError(_where(template), "wanted at least one field, and none twice")
    return re.compile(f"^(?:.*/)?{pattern}$", re.DOTALL)


def _translate(token: str, template: str, fields: Collection[str]) -> str:
    if token in _WILDCARDS:
        return _WILDCARDS[token]
    if token.startswith("{") and token.endswith("}"):
        name = token[1:-1]
        if name not in fields:
            near = difflib.get_close_matches(name, fields, n=1)
            hint = f"did you mean {{{near[0]}}}? " if near else ""
            wanted = ", ".join(fields)
            raise ManifestError(_where(template), f"no field {token}; {hint}wanted {wanted}")
        return f"(?P<{name}>[^/]+)"
    if "{" in token or "}" in token:
        raise ManifestError(_where(template), "a brace has no partner, wanted {field}")
    return re.escape(token)


def _where(template: str) -> str:
    return f"layout {template!r}"
