"""Manifests of recordings made on this machine."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from tracehouse.ingest.manifest.host import describe_host, describe_run_context
from tracehouse.ingest.manifest.resolver import ManifestResolver, check_fields
from tracehouse.ingest.recording.session import RecordingPlan, check_program
from tracehouse.ingest.sources.paths import Source

_OF_A_BUILD = ("build", "commit", "branch", "committed_at", "ordinal", "parent", "role")
_LETTERS = 12


class PlannedDump(NamedTuple):
    """A program to run, and the manifest fields of its dump."""

    plan: RecordingPlan
    fields: dict[str, object]


def describe_recording(plan: RecordingPlan, stated: Mapping[str, str | None]) -> dict[str, object]:
    """The manifest fields of a recording: the stated fields, and defaults for the others.

    By default the device is this machine, and the model is named after the program's file.
    Malformed fields raise ManifestError.
    """
    known: dict[str, object] = {
        **describe_host(),
        **describe_run_context(),
        "model": Path(plan.program).stem,
        "captured_at": datetime.now(UTC),
        "clock": "ns",
        **_describe_size(plan.program),
        **{name: text for name, text in stated.items() if text},
        "method": plan.method,
    }
    check_fields("options", known)
    return known


def _describe_size(program: str) -> dict[str, object]:
    """The size of a program as a counter; empty if the file is missing, which fails later."""
    try:
        size = Path(program).stat().st_size
    except OSError:
        return {}
    return {"counters": [{"name": "program_bytes", "unit": "bytes", "value": size}]}


def share_session(
    plan: RecordingPlan, fields: Mapping[str, object], reference: str
) -> tuple[PlannedDump, PlannedDump]:
    """A recording of a reference program followed by one of the program itself, in one session.

    Both recordings differ only in the program, so that changes of the device affect both. The
    reference's build is named by its hash, so that another program is another build. A program
    that cannot be read raises SourceError.
    """
    session = session_of(fields)
    own, digest = fields_of_other(fields, reference)
    pinned = {"build": f"reference-{digest}", "role": "reference", **_describe_size(reference)}
    return (
        PlannedDump(replace(plan, program=reference), {**own, **session, **pinned}),
        PlannedDump(plan, {**fields, **session}),
    )


def session_of(fields: Mapping[str, object]) -> dict[str, object]:
    """The field that names the session of this and later recordings."""
    return {"session": f"{fields['captured_at']:%Y-%m-%dT%H:%M:%S.%fZ}"}


def fields_of_other(fields: Mapping[str, object], program: str) -> tuple[dict[str, object], str]:
    """The fields that also apply to another program (all but the build), and its hash.

    A program that cannot be read raises SourceError.
    """
    check_program(program)
    with open(program, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    own = {name: value for name, value in fields.items() if name not in _OF_A_BUILD}
    return own, digest[:_LETTERS]


def check_manifest(dump: Path, fields: Mapping[str, object]) -> None:
    """Check that these fields make a complete manifest; a missing field raises ManifestError."""
    resolver = ManifestResolver(overrides=fields, tops=[str(dump.parent)])
    resolver.resolve(Source(str(dump)))
