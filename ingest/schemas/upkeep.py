"""Tables of upkeep: archive segments, decisions, judged nights, forgotten and refused dumps."""

from __future__ import annotations

import pyarrow as pa

from tracehouse.ingest.schemas.fields import UTC_US, field, table

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


DECISION_STATES = ("acknowledged", "accepted", "reopened")
NOTE_STATES = ("noted", "withdrawn")

GROUP_DECISIONS = table(
    "One row per decision about a group of alerts, or about a note on points (build x device x "
    "model x operator), in order of time; the last of a group or note counts.",
    field("group_id", pa.string(), "The group, as reports name it; or the id of the note."),
    field("state", pa.string(), f"One of {', '.join((*DECISION_STATES, *NOTE_STATES))}."),
    field("reason", pa.string(), "Why, in words; or the text of the note."),
    field("decided_by", pa.string(), "User who decided it."),
    field("decided_at", UTC_US, "Time of the decision."),
    field("build", pa.string(), "Build of the points; null for a group.", nullable=True),
    field("device", pa.string(), "Their device; null for all.", nullable=True),
    field("pool", pa.string(), "Pool of their devices; null for all.", nullable=True),
    field("model", pa.string(), "Their model; null for all.", nullable=True),
    field("backend", pa.string(), "Backend of the model; null for all.", nullable=True),
    field("event_name", pa.string(), "Their operator; null for all.", nullable=True),
    field("delegate_id", pa.string(), "Delegate debug id of the operator; null for all.",
          nullable=True),
    field("ordinal", pa.int32(), "Which of its run's instructions of that name and delegate id, "
          "from 1; null for all.", nullable=True),
)  # fmt: skip


JUDGED_NIGHTS = table(
    "One row per build and settings: the last nightly report of the build. A report whose inputs "
    "have changed since is made again at the next request.",
    field("build", pa.string(), "The judged build."),
    field("settings", pa.string(), "Hash of the team's settings and of the rules, hex."),
    field("inputs", pa.string(), "Hash of the data that was judged, hex."),
    field("judged_at", UTC_US, "Time of the judgement."),
    field("verdict", pa.string(), "Verdict of the report."),
    field("summary", pa.string(), "The verdict in a sentence."),
    field("report", pa.binary(), "The report as JSON (docs/report.schema.json), zlib-compressed."),
)


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
