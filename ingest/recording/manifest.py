"""What is known of a recording made on this machine, as a manifest says it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from ingest.manifest.host import describe_host
from ingest.manifest.resolver import ManifestResolver, check_fields
from ingest.recording.session import RecordingPlan
from ingest.sources.paths import Source


def describe_recording(plan: RecordingPlan, stated: Mapping[str, str | None]) -> dict[str, object]:
    """The fields of a recording of this moment: those stated, and else what is known of it.

    The device is this machine, and the model is called like the program's file. Malformed fields
    raise ManifestError.
    """
    known: dict[str, object] = {
        **describe_host(),
        "model": Path(plan.program).stem,
        "captured_at": datetime.now(UTC),
        "clock": "ns",
        **{name: text for name, text in stated.items() if text},
        "method": plan.method,
    }
    check_fields("options", known)
    return known


def check_manifest(dump: Path, fields: Mapping[str, object]) -> None:
    """Pass if a dump of that path will have a manifest; what is missing raises ManifestError."""
    ManifestResolver(overrides=fields).resolve(Source(str(dump)))
