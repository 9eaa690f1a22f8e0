"""Bytes to Arrow tables: decoding, signatures, manifests and sources. Knows no database."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ingest.decode import DecodedBatch, decode_dumps, stream_dump

__all__ = ["DecodedBatch", "decode_dumps", "stream_dump"]


def __getattr__(name: str) -> object:
    """The decoder, on first use: `tracehouse --help` must not wait for numpy and pyarrow.

    Raises:
        AttributeError: Any other name.
    """
    if name not in __all__:
        raise AttributeError(f"module 'ingest' has no attribute '{name}'")
    from ingest import decode

    return getattr(decode, name)
