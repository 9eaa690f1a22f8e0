"""The JSON files that describe dumps, and why a file is not JSON."""

from __future__ import annotations

import re

from tracehouse.ingest.errors import ManifestError
from tracehouse.ingest.file_magic import describe_bytes, is_utf16
from tracehouse.ingest.strict_json import NotJSONError, parse_finite_json

# Matching takes linear time, whatever the text is: it may be hostile.
_HEAD_BYTES = 64 << 10
_COMMENT = re.compile(rb"(?:^|[\n,{}\[\]])\s{0,40}(?://|/\*|#)")
_SINGLE_QUOTE = re.compile(rb"[{,:\[]\s{0,40}'")
_OTHER_COMMA = re.compile(rb",\s{0,40}[}\]]")

MAX_MANIFEST_BYTES = 1 << 20
MAX_MANIFEST_MARKS = 1 << 16  # more than the tags and counters of a manifest can have
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def explain_json(data: bytes) -> str | None:
    """What makes bytes no JSON, and what to do; None if that is not known.

    >>> explain_json(b"// by CI\\n{}"), explain_json(b"{'device': 'd'}")
    ('it has a comment, which JSON has not: delete it', 'its quotes are single ones: write "')
    """
    if is_utf16(data):
        return "it is UTF-16 text, as PowerShell's > writes it: save it as UTF-8"
    if not data.strip():
        return "it is empty: write the fields into it, or delete it"
    if b"\0" in data:
        return "it has bytes that are zero: write it again"
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return f"it is not UTF-8 (byte {error.start:,}): save it as UTF-8"
    return _explain_text(data)


def _explain_text(data: bytes) -> str | None:
    found = describe_bytes(data) or "JSON"
    if found != "JSON" and not found.startswith("text"):
        return f"it is {found}"
    if _COMMENT.search(data, 0, _HEAD_BYTES):
        return "it has a comment, which JSON has not: delete it"
    if _SINGLE_QUOTE.search(data, 0, _HEAD_BYTES):
        return 'its quotes are single ones: write "'
    if _OTHER_COMMA.search(data, 0, _HEAD_BYTES):
        return "it has a comma before a closing bracket: delete the comma"
    return None


def parse_json(
    place: str,
    data: bytes | memoryview,
    *,
    most_bytes: int = MAX_MANIFEST_BYTES,
    most_marks: int = MAX_MANIFEST_MARKS,
) -> object:
    """The value of a JSON file, which has only finite numbers.

    Raises:
        ManifestError: The file is too large or malformed, or an object has a key twice.
    """
    if len(data) > most_bytes:
        raise ManifestError(place, f"{len(data):,} bytes, wanted at most {most_bytes:,}")
    try:
        text = bytes(data).removeprefix(_BYTE_ORDER_MARK).decode()
        return parse_finite_json(text, most_marks=most_marks)
    except (UnicodeDecodeError, NotJSONError) as error:
        found = explain_json(bytes(data))
        problem = f"{found} ({error})" if found else error
        raise ManifestError(place, f"not valid JSON: {problem}") from error
    except ValueError as error:
        raise ManifestError(place, str(error)) from error
