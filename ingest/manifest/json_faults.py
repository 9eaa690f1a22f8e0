"""Why a file is not JSON, as far as that can be told, with a remedy. Pure."""

from __future__ import annotations

import re

from tracehouse.ingest.file_magic import describe_bytes, is_utf16

# Matching takes linear time, whatever the text is: it may be hostile.
_HEAD_BYTES = 64 << 10
_COMMENT = re.compile(rb"(?:^|[\n,{}\[\]])\s{0,40}(?://|/\*|#)")
_SINGLE_QUOTE = re.compile(rb"[{,:\[]\s{0,40}'")
_OTHER_COMMA = re.compile(rb",\s{0,40}[}\]]")


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
