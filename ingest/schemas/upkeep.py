"""Arrow schemas of the order of builds, deleted events and dumps, and the digests of dumps."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from tracehouse.ingest.schemas.fields import DUMP_ID, UTC_US, field, table

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


def digest_table(tables: Iterable[str]) -> pa.Schema:
    """The table with digests of the rows of dumps in some tables."""
    digests = (
        field(name, pa.int64(), f"Digest of its rows in {name}; null without rows.", nullable=True)
        for name in tables
    )
    return table(
        "One row per dump: digests of its rows as written, for 'tracehouse store verify'.",
        DUMP_ID,
        *digests,
        field(
            "damaged",
            pa.string(),
            "Tables with wrong rows of the dump when it was last verified; null if none.",
            nullable=True,
        ),
    )
