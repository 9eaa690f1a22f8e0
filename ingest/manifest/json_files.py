"""The JSON files that describe dumps."""

from __future__ import annotations

from tracehouse.ingest.errors import ManifestError
from tracehouse.ingest.manifest.json_faults import explain_json
from tracehouse.ingest.strict_json import NotJSONError, parse_finite_json

MAX_MANIFEST_BYTES = 1 << 20
MAX_MANIFEST_MARKS = 1 << 16  # more than the tags and counters of a manifest can have

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


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
