"""Arrow schemas of the order of builds, and of deleted events and dumps."""

from __future__ import annotations

import pyarrow as pa

from tracehouse.ingest.schemas.fields import UTC_US, field, table

DROPPED_EVENTS = table(
    "One row per dump whose rows of events were dropped for their age.",
    field("dump_id", pa.int32(), "Dump the row belongs to."),
    field("dropped_at", UTC_US, "Time they were dropped."),
)

BUILD_ORDER = table(
    "One row per build: its place among all builds, which follows from builds and dumps.",
    field("build_id", pa.int32(), "Build the row belongs to."),
    field("position", pa.int32(), "Place in the order, from 1."),
    field(
        "captured_at", UTC_US,
        "Median over its devices of their plausible times of recording; null if unknown.",
        nullable=True,
    ),
    field("device_count", pa.int32(), "Devices that recorded it at a plausible time."),
    field("first_captured_at", UTC_US, "First of these times; null if unknown.", nullable=True),
    field("last_captured_at", UTC_US, "Last of these times; null if unknown.", nullable=True),
)  # fmt: skip

FORGOTTEN_DUMPS = table(
    "One row per dump that was deleted for good, the archive's copy included.",
    field("sha256", pa.string(), "SHA-256 of its bytes, lower-case hex."),
    field("forgotten_at", UTC_US, "Time it was deleted."),
    field("forgotten_by", pa.string(), "User who did it."),
)
