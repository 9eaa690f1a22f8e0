"""Archive entries of loaded dumps, companions and refusals."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import lru_cache

from tracehouse.ingest.dump import Refusal
from tracehouse.ingest.manifest.fields import FullShape
from tracehouse.ingest.manifest.models import Manifest
from tracehouse.warehouse.archive.entries import (
    COMPANIONS,
    DEBUG_BUFFER,
    DUMP,
    ETRECORD,
    REFUSED,
    Entry,
    Ids,
)
from tracehouse.warehouse.archive.history import History
from tracehouse.warehouse.load.dump_rows import Facts
from tracehouse.warehouse.load.new_dump import NewDump

_KINDS = {"program": ETRECORD, "debug_buffer": DEBUG_BUFFER}


def dump_entries(
    dumps: Sequence[NewDump], facts: Sequence[Facts], history: History
) -> Iterator[Entry]:
    """Entries of new dumps, after the entries of their companions."""
    yield from _companion_entries(dumps, history)
    for dump, row in zip(dumps, facts, strict=True):
        yield Entry(
            DUMP,
            dump.taken_at,
            dump.source,
            dump.sha256,
            Ids(row["dump_id"], row["device_id"], row["build_id"], row["model_id"]),
            row["manifest"],
            row.get("etrecord_sha256") or (dump.program and dump.program.sha256),
            row.get("debug_buffer_sha256") or (dump.debug_buffer and dump.debug_buffer.sha256),
            data=dump.data,
        )


def attachment_entries(
    dumps: Sequence[NewDump], history: History, now: datetime
) -> Iterator[Entry]:
    """Entries of companions that came later than their dumps, and of the attachments."""
    yield from _companion_entries([dump._replace(taken_at=now) for dump in dumps], history)
    for dump in dumps:
        yield Entry(
            COMPANIONS,
            now,
            dump.source,
            dump.sha256,
            manifest=dump.manifest.canonical_json(),
            etrecord_sha256=dump.program and dump.program.sha256,
            debug_buffer_sha256=dump.debug_buffer and dump.debug_buffer.sha256,
        )


def refusal_entries(refusals: Sequence[Refusal], history: History) -> Iterator[Entry]:
    """Entries of refused files; bytes that the archive holds already are left out."""
    missing = history.missing(one.sha256 for one in refusals if one.sha256)
    for one in refusals:
        data = one.data if one.sha256 in missing else None
        missing.discard(one.sha256 or "")
        yield Entry(
            REFUSED,
            one.refused_at,
            one.source,
            one.sha256,
            manifest=one.manifest,
            reason=one.reason,
            byte_offset=one.byte_offset,
            detail=one.detail,
            data=data,
        )


def refusal_of(entry: Entry) -> Refusal:
    """The refusal in an entry, without the bytes."""
    return Refusal(
        *(entry.name, entry.sha256, str(entry.reason), entry.byte_offset, str(entry.detail)),
        refused_at=entry.recorded_at,
        manifest=entry.manifest,
    )


@lru_cache(maxsize=4096)
def parse_manifest(text: str) -> Manifest:
    """The manifest in an entry, from canonical JSON."""
    return Manifest.model_validate(FullShape(json.loads(text)))


def _companion_entries(dumps: Sequence[NewDump], history: History) -> Iterator[Entry]:
    """Entries of the ETRecords and debug buffers that the archive does not hold yet."""
    files = {
        file.sha256: (_KINDS[name], dump.taken_at, file)
        for dump in dumps
        for name, file in dump.companions().items()
    }
    missing = history.missing(files)
    for sha256, (kind, taken_at, file) in files.items():
        if sha256 in missing:
            yield Entry(kind, taken_at, file.name, sha256, data=file.data)
