"""Bytes to Arrow tables: decoding, signatures, manifests and sources. Knows no database."""
