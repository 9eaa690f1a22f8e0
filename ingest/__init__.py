"""Bytes to Arrow tables: decoding, signatures, manifests and sources. Knows no database."""

from ingest.decode import DecodedBatch, decode_dumps

__all__ = ["DecodedBatch", "decode_dumps"]
