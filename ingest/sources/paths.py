"""The public names of `ingest.sources`."""

from __future__ import annotations

from tracehouse.ingest.sources.folder_names import list_names
from tracehouse.ingest.sources.listing import find_sources
from tracehouse.ingest.sources.places import Folder, Source
from tracehouse.ingest.sources.reading import (
    MAX_DUMP_BYTES,
    MAX_FILE_BYTES,
    count_bytes,
    count_unpacked_bytes,
    read_dump_bytes,
    read_end_if_present,
    read_if_present,
    read_source,
)
from tracehouse.ingest.sources.zip_limits import MAX_MEMBER_BYTES

__all__ = [
    "MAX_DUMP_BYTES",
    "MAX_FILE_BYTES",
    "MAX_MEMBER_BYTES",
    "Folder",
    "Source",
    "count_bytes",
    "count_unpacked_bytes",
    "find_sources",
    "list_names",
    "read_dump_bytes",
    "read_end_if_present",
    "read_if_present",
    "read_source",
]
