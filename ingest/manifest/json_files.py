"""The JSON files that describe dumps."""

from __future__ import annotations

import json

from pydantic_core import from_json

from ingest.errors import ManifestError
from ingest.manifest.json_faults import explain_json
from ingest.strict_json import DuplicateKeyError, unique_keys

MAX_MANIFEST_BYTES = 1 << 20

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def parse_json(
    place: str, data: bytes | memoryview, *, most_bytes: int = MAX_MANIFEST_BYTES
) -> object:
    """The value of a JSON file.

    Raises:
        ManifestError: The file is too large or malformed, or an object has a key twice.
    """
    if len(data) > most_bytes:
        raise ManifestError(place, f"{len(data):,} bytes, wanted at most {most_bytes:,}")
    try:
        text = bytes(data).removeprefix(_BYTE_ORDER_MARK)
        content: object = from_json(text, allow_inf_nan=False)
        json.loads(text, object_pairs_hook=unique_keys)
        return content
    except DuplicateKeyError as error:
        raise ManifestError(place, str(error)) from error
    except ValueError as error:
        found = explain_json(text)
        problem = f"{found} ({error})" if found else error
        raise ManifestError(place, f"not valid JSON: {problem}") from error
