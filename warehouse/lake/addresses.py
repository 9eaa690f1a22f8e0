"""Addresses of lakes, as somebody may have mistyped them. Pure."""

from __future__ import annotations

import re

from ingest.watching.buckets import without_keys
from warehouse.errors import LakeAddressError

_NOTHING = re.compile(r"\s*|\w+://")


def check_address(uri: str) -> None:
    """Pass if it may be the address of a lake.

    Raises:
        LakeAddressError: It is empty.
    """
    if _NOTHING.fullmatch(uri):
        raise LakeAddressError(
            uri,
            "no address of a lake, wanted a folder, or a URI such as s3://bucket/lake; is it a "
            "variable that is not set?",
        )
