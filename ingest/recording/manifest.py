"""What is known of a recording made on this machine, as a manifest says it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from ingest.manifest.host import describe_host, describe_run_context
from ingest.manifest.resolver import ManifestResolver, check_fields
from ingest.recording.session import RecordingPlan, check_program
from ingest.sources.paths import Source

_OF_A_BUILD = ("build", "commit", "branch", "committed_at", "ordinal", "parent", "role")
_LETTERS = 12


class PlannedDump(NamedTuple):
    """What to run, and the fields of its dump's manifest."""

    plan: RecordingPlan
    fields: dict[str, object]


def describe_recording(plan: RecordingPlan, stated: Mapping[str, str | None]) -> dict[str, object]:
    """The fields of a recording of this moment: those stated, and else what is known of it.

    The device is this machine, and the model is called like the program's file. Malformed fields
    raise ManifestError.
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
    """The size of a program as a counter; nothing where there is none, which is told later."""
    try:
        size = Path(program).stat().st_size
    except OSError:
        return {}
    return {"counters": [{"name": "program_bytes", "unit": "bytes", "value": size}]}


def share_session(
    plan: RecordingPlan, fields: Mapping[str, object], reference: str
) -> tuple[PlannedDump, PlannedDump]:
    """A recording of a reference program, and then one of the program itself, in one session.

    The reference is the same in all but the program: what the device does to the one, it does to
    the other. Its build is called by its content, so that another program is another build. A
    program that cannot be read raises SourceError.
    """
    session = session_of(fields)
    own, digest = fields_of_other(fields, reference)
    pinned = {
        "build": f"reference-{digest}",
        "role": "reference",
        **_describe_size(reference),
    }
    return (
        PlannedDump(replace(plan, program=reference), {**own, **session, **pinned}),
        PlannedDump(plan, {**fields, **session}),
    )


def session_of(fields: Mapping[str, object]) -> dict[str, object]:
    """The field that names the session that begins with a recording."""
    return {"session": f"{fields['captured_at']:%Y-%m-%dT%H:%M:%S.%fZ}"}


def fields_of_other(fields: Mapping[str, object], program: str) -> tuple[dict[str, object], str]:
    """What holds of another program's recordings as well, all but its build, and its digest.

    A program that cannot be read raises SourceError.
    """
    check_program(program)
    with open(program, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    own = {name: value for name, value in fields.items() if name not in _OF_A_BUILD}
    return own, digest[:_LETTERS]


def check_manifest(dump: Path, fields: Mapping[str, object]) -> None:
    """Pass if a dump of that path will have a manifest; what is missing raises ManifestError."""
    ManifestResolver(overrides=fields).resolve(Source(str(dump)))
