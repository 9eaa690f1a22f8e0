"""Surveys of an inbox: hashes and manifests of its dumps, before decoding."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

import pyarrow as pa

from tracehouse.ingest.dump import Companion, Dump, Refusal
from tracehouse.ingest.errors import ManifestError, SourceError
from tracehouse.ingest.watching.places import WatchedPlace
from tracehouse.warehouse.load.content import read_dumps
from tracehouse.warehouse.spark.inboxes import ManifestDefaults, local_dumps, open_place


class KnownDump(NamedTuple):
    """A dump in a lake: its manifest, its origin, its time of ingest, and its companions."""

    manifest: str
    source: str
    ingested_at: str
    etrecord_id: int | None = None
    debug_buffer_sha256: str | None = None


class DumpFacts(NamedTuple):
    """A dump of an inbox that was read, but not decoded yet.

    Attributes:
        source: Name of the dump in messages and in the lake.
        path: The dump's file, or the zip that contains it.
        member: The name in that zip; None for a file.
        sha256: SHA-256 of the bytes; empty if they cannot be read.
        byte_count: Number of bytes.
        manifest: The manifest as canonical JSON; empty if the dump is refused.
        reason: Why the dump is refused, machine-readable; None if it is not.
        detail: The reason in words.
        etrecord: Name of the ETRecord, if any.
        etrecord_sha256: SHA-256 of the ETRecord; None if it cannot be read.
        debug_buffer: Name of the debug buffer, if any.
        debug_buffer_sha256: SHA-256 of the debug buffer; None if it cannot be read.
        known: The dump in the lake, if it is to be rewritten with new companions.
    """

    source: str
    path: str
    member: str | None
    sha256: str
    byte_count: int
    manifest: str
    reason: str | None = None
    detail: str | None = None
    etrecord: str | None = None
    etrecord_sha256: str | None = None
    debug_buffer: str | None = None
    debug_buffer_sha256: str | None = None
    known: KnownDump | None = None

    @property
    def state(self) -> str:
        """The hash, with the companions of a rewritten dump."""
        return self.sha256 if self.known is None else f"{self.sha256} {self.known[3:]}"

    @classmethod
    def of(cls, *values: Any) -> DumpFacts:
        """The dump with these values from JSON."""
        dump = cls(*values)
        return dump._replace(known=dump.known and KnownDump(*dump.known))


_BYTE_COUNT = pa.field("byte_count", pa.int64())
DUMP_FACTS = pa.schema(
    [
        ("number", pa.int64()),  # position in the inbox of the first file of the piece
        *(
            _BYTE_COUNT if name == _BYTE_COUNT.name else pa.field(name, pa.string())
            for name in DumpFacts._fields[:-1]
        ),
    ]
)


def survey_piece(piece: str, *, inbox: str, stated: ManifestDefaults) -> pa.Table:
    """Rows of DUMP_FACTS for files, given as JSON: the number of the first, and their paths.

    Raises:
        SourceError: The files cannot be fetched.
    """
    number, paths = json.loads(piece)
    found = survey_files(open_place(inbox), paths, stated)
    rows = [{"number": number, **dump._asdict()} for dump in found]
    return pa.Table.from_pylist(rows, schema=DUMP_FACTS)


def survey_files(
    place: WatchedPlace, paths: Sequence[str], stated: ManifestDefaults
) -> Iterator[DumpFacts]:
    """Facts of the dumps in files, in order; refusals of files without dumps come first.

    Raises:
        SourceError: The files cannot be fetched; a single unreadable file is refused.
    """
    hash_file = cache(_hash_file)
    with local_dumps(place, paths, stated) as local:
        for error in local.faults:
            yield DumpFacts(error.source, "", None, "", 0, "", error.reason, error.problem)
        for path, member, incoming in local.dumps:
            yield _survey(place, path, member, incoming, hash_file)


def _hash_file(file: Companion) -> str | None:
    with suppress(SourceError):  # it is refused when its dump is decoded
        return file.read_hashed().sha256
    return None


def _survey(
    place: WatchedPlace,
    path: str,
    member: str | None,
    incoming: Dump,
    hash_file: Callable[[Companion], str | None],
) -> DumpFacts:
    (file,) = read_dumps([incoming])
    if isinstance(file, Refusal):
        detail = place.restore_paths(file.detail)
        return DumpFacts(incoming.name, path, member, "", 0, "", file.reason, detail)
    dump = DumpFacts(incoming.name, path, member, file.sha256, len(file.data), "")
    try:
        dump = dump._replace(manifest=incoming.manifest().canonical_json())
    except (ManifestError, SourceError) as error:
        detail = place.restore_paths(str(error)).removeprefix(f"{incoming.name}: ")
        return dump._replace(reason="manifest", detail=detail)
    record, buffer = incoming.etrecord, incoming.debug_buffer
    return dump._replace(
        etrecord=record.name if record else None,
        etrecord_sha256=hash_file(record) if record else None,
        debug_buffer=buffer.name if buffer else None,
        debug_buffer_sha256=hash_file(buffer) if buffer else None,
    )
