"""Arrow schema of decisions about groups of alerts."""

from __future__ import annotations

import pyarrow as pa

from ingest.schemas.fields import UTC_US, field, table

DECISION_STATES = ("acknowledged", "accepted", "reopened")

GROUP_DECISIONS = table(
    "One row per decision about a group of alerts, in order of time; the last of a group counts.",
    field("group_id", pa.string(), "The group, as reports name it."),
    field("state", pa.string(), f"One of {', '.join(DECISION_STATES)}."),
    field("reason", pa.string(), "Why, in words."),
    field("decided_by", pa.string(), "User who decided it."),
    field("decided_at", UTC_US, "Time of the decision."),
)
