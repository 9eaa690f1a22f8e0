"""Why a dump is refused; of what was meant as a profiler blob, why it is none."""

from __future__ import annotations

from typing import Any, NamedTuple

from ingest.errors import DumpError
from ingest.manifest.fields import describe_differences
from ingest.profiler_blob.blocks import HEADER, decode_profiler_blob

_NO_DUMP = "bad_identifier"  # neither an ETDump nor a profiler blob
_SUFFIX = ".prof"
_NAME_BYTES = 32
_LAST_VERSION = 16  # far above those there are


class DumpFault(NamedTuple):
    """What is wrong with a dump: machine-readable, where in it, and in words."""

    reason: str
    byte_offset: int | None
    detail: str


def explain_fault(fault: DumpFault, name: str, data: Any) -> DumpFault:
    """Why a dump is refused; for what looks like a profiler blob, why it is no valid one.

    Args:
        fault: What the decoder says.
        name: Name of the dump.
        data: Its bytes.
    """
    is_named = name.lower().endswith(_SUFFIX)
    is_short = is_named and len(data) < HEADER.itemsize
    is_meant = fault.reason == _NO_DUMP and (is_named or _starts_like_blob(data))
    if not (is_short or is_meant):
        return fault
    try:
        decode_profiler_blob(data, name)
    except DumpError as error:
        return DumpFault(error.reason, error.byte_offset, f"as a profiler blob: {error.detail}")
    return fault


def describe_conflict(sha256: str, here: str, there: str) -> str:
    """What to do about a dump that is known under another manifest than is said here."""
    return (
        f"these bytes are known under another manifest ({describe_differences(here, there)}): "
        "correct what is said here, or what is known with 'tracehouse amend --dump "
        f"{sha256[:12]} --set FIELD=VALUE', or take them as they are known"
    )


def _starts_like_blob(data: Any) -> bool:
    """Whether bytes start with a block's name and some version, whatever follows."""
    head = bytes(memoryview(data).cast("B")[: _NAME_BYTES + 4])
    name, end, _ = head[:_NAME_BYTES].partition(b"\0")
    version = int.from_bytes(head[_NAME_BYTES:], "little")
    is_name = bool(name and end) and name.isascii() and name.decode("ascii").isprintable()
    return is_name and 0 < version <= _LAST_VERSION
