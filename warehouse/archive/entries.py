"""Entries of the archive: a store's history, and the bytes of its files."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, NamedTuple

import pyarrow as pa

from tracehouse.ingest.schemas.fields import UTC_US, field, table

DUMP: Final = "dump"  # a dump was ingested
ETRECORD: Final = "etrecord"  # the file of a companion of dumps
DEBUG_BUFFER: Final = "debug_buffer"  # the file of a companion of dumps
COMPANIONS: Final = "companions"  # companions were attached to a stored dump
REFUSED: Final = "refused"  # a file was refused; with its bytes if they could be read
SETTLED: Final = "settled"  # a conflict was resolved
AMENDED: Final = "amended"  # a dump's manifest was corrected
DROPPED: Final = "dropped"  # a dump's events were dropped by retention
FORGOTTEN: Final = "forgotten"  # a dump was deleted for good
DECIDED: Final = "decided"  # the user decided about a group of alerts
JUDGED: Final = "judged"  # the result of a night
ERASED: Final = "erased"  # placeholder of an entry about a forgotten dump

SEGMENT = table(
    "Entries in the order in which they changed the store; the bytes of a long file follow in "
    "further rows, which repeat all but `data` and `part`.",
    field("segment", pa.int64(), "Number of the segment in which the entry was sealed, from 1."),
    field("kind", pa.string(), "dump, etrecord, debug_buffer, companions, refused, settled, "
          "amended, dropped, forgotten, decided, judged or erased."),
    field("recorded_at", UTC_US, "Time the entry was made."),
    field("name", pa.string(), "Name of the file at its origin, the group of the decision, "
          "or the build of the night."),
    field("sha256", pa.string(), "SHA-256 of the file, or of the dump the entry is about, hex; "
          "null for a refused file that could not be read, and where an entry was erased.",
          nullable=True),
    field("dump_id", pa.int32(), "Number of the dump in the store; null for other files.",
          nullable=True),
    field("device_id", pa.int32(), "Number of its device in the store.", nullable=True),
    field("build_id", pa.int32(), "Number of its build in the store.", nullable=True),
    field("model_id", pa.int32(), "Number of its model in the store.", nullable=True),
    field("manifest", pa.string(), "The dump's manifest as canonical JSON.", nullable=True),
    field("etrecord_sha256", pa.string(), "ETRecord the dump came with.", nullable=True),
    field("debug_buffer_sha256", pa.string(), "Debug buffer the dump came with.", nullable=True),
    field("reason", pa.string(), "Why a file was refused, machine-readable; the state that was "
          "decided.", nullable=True),
    field("byte_offset", pa.int64(), "Offset of the fault, null if none.", nullable=True),
    field("detail", pa.string(), "The reason in words; facts of a decision or night, as JSON.",
          nullable=True),
    field("byte_count", pa.int64(), "Size of the file; null where no bytes are stored.",
          nullable=True),
    field("part", pa.int32(), "Which part of the file `data` is, from 0."),
    field("data", pa.binary(), "Bytes of the file, up to 4 MiB a row.", nullable=True),
)  # fmt: skip


class Ids(NamedTuple):
    """Ids of a dump, its device, build and model in a store."""

    dump: int
    device: int
    build: int
    model: int


class Entry(NamedTuple):
    """One entry, as in SEGMENT.

    `data` is the whole file; None if the entry has no bytes, or its bytes were not read.
    `byte_count` is its size; a writer need not set it.
    """

    kind: str
    recorded_at: datetime
    name: str
    sha256: str | None = None
    ids: Ids | None = None
    manifest: str | None = None
    etrecord_sha256: str | None = None
    debug_buffer_sha256: str | None = None
    reason: str | None = None
    byte_offset: int | None = None
    detail: str | None = None
    byte_count: int | None = None
    data: Any = None
