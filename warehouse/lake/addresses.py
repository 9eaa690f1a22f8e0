"""Checks of lake addresses for typos. Pure."""

from __future__ import annotations

import re

from tracehouse.ingest.watching.buckets import without_keys
from tracehouse.warehouse.errors import LakeAddressError

_NOTHING = re.compile(r"\s*|\w+://")
_MISTYPED = re.compile(
    r"(?P<scheme>s3|gs|gcs|abfs|abfss|hdfs|viewfs|file)(?P<mark>:/*|//+)(?P<rest>.*)", re.DOTALL
)


def check_address(uri: str) -> None:
    """Check that a text may be the address of a lake.

    Raises:
        LakeAddressError: The text is empty, or a URI whose '://' is mistyped.
    """
    if _NOTHING.fullmatch(uri):
        raise LakeAddressError(
            uri,
            "not the address of a lake; wanted a folder or a URI such as s3://bucket/lake (is a "
            "variable unset?)",
        )
    mistyped = None if "://" in uri else _MISTYPED.fullmatch(uri)
    if mistyped:
        scheme, mark, rest = mistyped.groups()
        shown = without_keys(f"://{rest}").removeprefix("://")
        meant = f"{scheme}://{'/' if scheme == 'file' else ''}{shown}"
        folder = f"{scheme}{mark}{shown}"
        problem = f"looks like a URI, but is not; write {meant}, or ./{folder} for a folder"
        raise LakeAddressError(folder, problem)
