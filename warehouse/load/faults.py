"""Explanations of refusals, including those of malformed profiler blobs."""

from __future__ import annotations

from typing import Any

from tracehouse.ingest.dump import Refusal
from tracehouse.ingest.errors import DumpError
from tracehouse.ingest.file_magic import describe_bytes
from tracehouse.ingest.manifest.fields import describe_differences
from tracehouse.ingest.profiler_blob.blocks import HEADER, decode_profiler_blob
from tracehouse.ingest.sources.file_names import UNPACKED

_NO_DUMP = "bad_identifier"  # neither an ETDump nor a profiler blob
_SUFFIXES = tuple(f".prof{packing}" for packing in ("", *UNPACKED))
_NAME_BYTES = 32
_LAST_VERSION = 16  # far above the existing ones


def explain_refusal(refusal: Refusal, data: Any) -> Refusal:
    """The decoder's refusal; for data that resembles a profiler blob, the fault of the blob."""
    is_named = refusal.source.lower().endswith(_SUFFIXES)
    is_short = is_named and len(data) < HEADER.itemsize
    is_unknown = refusal.reason == _NO_DUMP and describe_bytes(data) is None
    is_meant = is_unknown and (is_named or _starts_like_blob(data))
    if is_short or is_meant:
        try:
            decode_profiler_blob(data, refusal.source)
        except DumpError as error:
            detail = f"as a profiler blob: {error.detail}"
            reason, offset = error.reason, error.byte_offset
            return refusal._replace(reason=reason, byte_offset=offset, detail=detail)
    return refusal


def describe_conflict(sha256: str, new_manifest: str, known_manifest: str) -> str:
    """The conflict of a dump's new manifest with its known one, and how to resolve it."""
    differences = describe_differences(new_manifest, known_manifest)
    return (
        f"these bytes are known under another manifest ({differences}): correct this manifest, or "
        f"the known one with 'tracehouse store amend --dump {sha256[:12]} --set FIELD=VALUE', or "
        "accept the known one"
    )


def _starts_like_blob(data: Any) -> bool:
    """Whether bytes start with a block's name and a plausible version, whatever follows."""
    head = bytes(memoryview(data).cast("B")[: _NAME_BYTES + 4])
    name, end, _ = head[:_NAME_BYTES].partition(b"\0")
    version = int.from_bytes(head[_NAME_BYTES:], "little")
    is_name = bool(name and end) and name.isascii() and name.decode("ascii").isprintable()
    return is_name and 0 < version <= _LAST_VERSION
