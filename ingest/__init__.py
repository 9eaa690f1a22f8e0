"""Bytes to Arrow tables: decoding, signatures, manifests and sources. Knows no database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.lazy import lazy_attributes

if TYPE_CHECKING:
    from ingest.decode import DecodedBatch, decode_dumps, stream_dump

__all__ = ["DecodedBatch", "decode_dumps", "stream_dump"]

# `tracehouse --help` must not wait for numpy and pyarrow.
__getattr__ = lazy_attributes(__name__, dict.fromkeys(__all__, "ingest.decode"))
