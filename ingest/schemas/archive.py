"""Arrow schemas of a store's index of its archive."""

from __future__ import annotations

import pyarrow as pa

from tracehouse.ingest.schemas.fields import field, table

_SEGMENT = field("segment", pa.int64(), "Number of the archive's segment, from 1.")

ARCHIVE_SEGMENTS = table(
    "One row per segment of the archive whose entries are in this store.",
    _SEGMENT,
    field("entry_count", pa.int64(), "Entries in it."),
)

ARCHIVED_FILES = table(
    "One row per file whose bytes the archive holds.",
    field("sha256", pa.string(), "SHA-256 of its bytes, lower-case hex."),
    field("kind", pa.string(), "dump, etrecord, debug_buffer or refused."),
    field("byte_count", pa.int64(), "Size in bytes."),
    _SEGMENT,
)
