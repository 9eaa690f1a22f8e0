"""Arrow schema of decisions about groups of alerts, and of notes on points."""

from __future__ import annotations

import pyarrow as pa

from tracehouse.ingest.schemas.fields import UTC_US, field, table

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
