"""Arrow schema of the stored results of nights."""

from __future__ import annotations

import pyarrow as pa

from tracehouse.ingest.schemas.fields import UTC_US, field, table

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
