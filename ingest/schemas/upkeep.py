"""Arrow schemas of records about deleted events and dumps."""

from __future__ import annotations

import pyarrow as pa

from ingest.schemas.fields import UTC_US, field, table

DROPPED_EVENTS = table(
    "One row per dump whose rows of events were dropped for their age.",
    field("dump_id", pa.int32(), "Dump the row belongs to."),
    field("dropped_at", UTC_US, "Time they were dropped."),
)

FORGOTTEN_DUMPS = table(
    "One row per dump that was deleted for good, the archive's copy included.",
    field("sha256", pa.string(), "SHA-256 of its bytes, lower-case hex."),
    field("forgotten_at", UTC_US, "Time it was deleted."),
    field("forgotten_by", pa.string(), "User who did it."),
)
