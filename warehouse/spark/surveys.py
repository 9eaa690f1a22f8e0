"""What the dumps of an inbox are, before any is decoded: their bytes' hashes and manifests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import pyarrow as pa

from ingest.dump import Companion, Dump, Refusal
from ingest.errors import ManifestError, SourceError
from ingest.watching.places import WatchedPlace
from warehouse.load.content import read_dumps
from warehouse.spark.inboxes import ManifestDefaults, local_dumps, open_place

DUMP_FACTS = pa.schema(
    [
        ("number", pa.int64()),  # of the first file of the piece, in the inbox
        ("source", pa.string()),
        ("path", pa.string()),
        ("member", pa.string()),
        ("sha256", pa.string()),
        ("byte_count", pa.int64()),
        ("manifest", pa.string()),
        ("reason", pa.string()),
        ("detail", pa.string()),
        ("etrecord", pa.string()),
        ("etrecord_sha256", pa.string()),
        ("debug_buffer", pa.string()),
        ("debug_buffer_sha256", pa.string()),
    ]
)


class DumpFacts(NamedTuple):
    """A dump that was looked at; the columns of DUMP_FACTS after the first.

    Attributes:
        source: What it is called in messages and in the lake.
        path: The file that it is, or is in.
        member: What it is called in that file, a zip.
        sha256: SHA-256 of its bytes; None if they cannot be read.
        byte_count: Their number.
        manifest: What they do not say, as canonical JSON; None if it is refused.
        reason: Why it is refused, machine-readable.
        detail: The same, in words.
        etrecord: What the ETRecord that it comes with is called.
        etrecord_sha256: SHA-256 of that one's bytes; None if they cannot be read.
        debug_buffer: What its debug buffer is called.
        debug_buffer_sha256: SHA-256 of that one's bytes, likewise.
    """

    source: str
    path: str
    member: str | None
    sha256: str | None
    byte_count: int
    manifest: str | None
    reason: str | None = None
    detail: str | None = None
    etrecord: str | None = None
    etrecord_sha256: str | None = None
    debug_buffer: str | None = None
    debug_buffer_sha256: str | None = None


def survey_piece(piece: str, *, inbox: str, stated: ManifestDefaults) -> pa.Table:
    """Rows of DUMP_FACTS of some files, given as JSON: the number of the first, and their paths.

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
    """Look at the dumps in files, in order of the files; what holds none comes first.

    Raises:
        SourceError: The files cannot be fetched; one that cannot be read is refused instead.
    """
    hashes = _Hashes()
    with local_dumps(place, paths, stated) as brought:
        for error in brought.faults:
            yield DumpFacts(error.source, "", None, None, 0, None, error.reason, error.problem)
        for path, member, incoming in brought.dumps:
            yield _survey(place, path, member, incoming, hashes)


class _Hashes:
    """SHA-256s of what comes with dumps; each file is read once."""

    def __init__(self) -> None:
        self._known: dict[Companion, str | None] = {}

    def of(self, file: Companion | None) -> tuple[str | None, str | None]:
        """Name and hash of a file; None where there is none, or it cannot be read."""
        if file is None:
            return None, None
        if file not in self._known:
            self._known[file] = None
            with suppress(SourceError):  # it is refused when its dump is decoded
                self._known[file] = hashlib.sha256(file.read()).hexdigest()
        return file.name, self._known[file]


def _survey(
    place: WatchedPlace, path: str, member: str | None, incoming: Dump, hashes: _Hashes
) -> DumpFacts:
    (file,) = read_dumps([incoming])
    if isinstance(file, Refusal):
        detail = place.restore_paths(file.detail)
        return DumpFacts(incoming.name, path, member, None, 0, None, file.reason, detail)
    dump = DumpFacts(incoming.name, path, member, file.sha256, len(file.data), None)
    try:
        dump = dump._replace(manifest=incoming.manifest().canonical_json())
    except (ManifestError, SourceError) as error:
        detail = place.restore_paths(str(error)).removeprefix(f"{incoming.name}: ")
        return dump._replace(reason="manifest", detail=detail)
    etrecord, buffer = hashes.of(incoming.etrecord), hashes.of(incoming.debug_buffer)
    return dump._replace(
        etrecord=etrecord[0],
        etrecord_sha256=etrecord[1],
        debug_buffer=buffer[0],
        debug_buffer_sha256=buffer[1],
    )
