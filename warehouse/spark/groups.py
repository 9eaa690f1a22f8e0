"""Groups of dumps: the driver decides which dumps are in them, and the executors decode them."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, lru_cache, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from tracehouse.ingest.batching import batches
from tracehouse.ingest.dump import Companion, Dump, Refusal
from tracehouse.ingest.errors import ManifestError, SourceError
from tracehouse.ingest.manifest.models import Manifest
from tracehouse.ingest.watching.places import WatchedPlace
from tracehouse.warehouse.engine.migrations import store_in_memory
from tracehouse.warehouse.lake.commits import AddedFile
from tracehouse.warehouse.lake.layout import UNKNOWN_DATE, Partition, name_part
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.lake.writing import write_group
from tracehouse.warehouse.load.content import describe_conflict, read_dumps
from tracehouse.warehouse.load.pipeline import ingest_dumps
from tracehouse.warehouse.load.stored_dumps import StoredDumps
from tracehouse.warehouse.spark.inboxes import ManifestDefaults, local_dumps, open_place
from tracehouse.warehouse.spark.tasks import Tasks

if TYPE_CHECKING:
    import duckdb

_BYTE_COUNT = pa.field("byte_count", pa.int64())
MOST_BYTES = 96 << 20  # dumps of this size are decoded together
LEAST_BYTES = 8 << 20
_OF_PLACES = {"manifest", "conflict", "unreadable"}  # reasons that do not depend on the bytes alone

DECODED_GROUPS = pa.schema(
    [
        ("name", pa.string()),
        ("added", pa.string()),  # JSON, as in a commit
        ("n_dumps", pa.int64()),
        ("n_events", pa.int64()),
        ("refused", pa.string()),  # JSON: the first fields of each Refusal
        ("is_changed", pa.bool_()),
    ]
)

_TIMES = ("UPDATE dumps SET ingested_at = $at", "UPDATE ingest_errors SET refused_at = $at")
_ORIGINAL = "UPDATE dumps SET source = $source, ingested_at = $at WHERE sha256 = $sha256"
_TAKEN = """
SELECT sha256, etrecord_id, debug_buffer_sha256 FROM dumps
UNION SELECT sha256, NULL, NULL FROM ingest_errors
"""


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


class DumpGroup(NamedTuple):
    """Dumps that are decoded together into files named `name`."""

    name: str
    entries: tuple[DumpFacts, ...]

    @property
    def partitions(self) -> set[Partition]:
        """Partitions of the lake for its rows."""
        return {partition_of(entry.manifest) for entry in self.entries}

    @classmethod
    def of(cls, name: str, entries: Iterable[Sequence[Any]]) -> DumpGroup:
        """The group with these values from JSON."""
        return cls(name, tuple(DumpFacts.of(*entry) for entry in entries))


class IngestDecision(NamedTuple):
    """The dumps of an inbox to ingest.

    Attributes:
        entries: New dumps, each with different bytes.
        late: Dumps of the lake with new companions.
        refused: Refusals that the lake has not recorded yet.
        n_known: Number of dumps that the lake has or has refused.
    """

    entries: list[DumpFacts]
    late: list[DumpFacts]
    refused: list[Refusal]
    n_known: int


def decide(
    surveyed: Iterable[DumpFacts], known: Mapping[str, KnownDump], refusals: Collection[Refusal]
) -> IngestDecision:
    """Classify dumps as new, known or refused; of equal dumps, the first is new."""
    manifests = {sha256: dump.manifest for sha256, dump in known.items()}
    bad = {(one.source, one.sha256) for one in refusals if one.reason not in _OF_PLACES}
    recorded = set(refusals)
    entries: list[DumpFacts] = []
    late: dict[str, DumpFacts] = {}
    refused: dict[Refusal, None] = {}
    n_known = 0
    for dump in surveyed:
        refusal = _refuse(dump, manifests)
        is_known = dump.sha256 in manifests or (dump.source, dump.sha256) in bad
        if refusal in recorded or (refusal is None and is_known):
            n_known += 1
            stored = known.get(dump.sha256)
            if stored and refusal is None and _has_more(dump, stored, bad):
                late.setdefault(dump.sha256, dump._replace(known=stored))
        elif refusal:
            refused[refusal] = None
        else:
            manifests[dump.sha256] = dump.manifest
            entries.append(dump)
    return IngestDecision(entries, list(late.values()), list(refused), n_known)


def _refuse(dump: DumpFacts, manifests: Mapping[str, str]) -> Refusal | None:
    if dump.reason:
        return Refusal(dump.source, dump.sha256 or None, dump.reason, None, dump.detail or "")
    known = manifests.get(dump.sha256)
    if known is None or known == dump.manifest:
        return None
    detail = describe_conflict(dump.sha256, dump.manifest, known)
    return Refusal(dump.source, dump.sha256, "conflict", None, detail)


def _has_more(
    dump: DumpFacts, known: KnownDump, bad: Collection[tuple[str | None, str | None]]
) -> bool:
    """Whether a dump has a companion that the lake neither has nor has refused.

    False if a companion that the lake has is gone.
    """
    companions = (
        (dump.etrecord, dump.etrecord_sha256, known.etrecord_id),
        (dump.debug_buffer, dump.debug_buffer_sha256, known.debug_buffer_sha256),
    )
    if any(known_id is not None and name is None for name, _, known_id in companions):
        return False
    return any(
        known_id is None and sha256 is not None and (name, sha256) not in bad
        for name, sha256, known_id in companions
    )


def group_entries(
    entries: Sequence[DumpFacts], *, parallelism: int, taken: Collection[str] = ()
) -> list[DumpGroup]:
    """Dumps in groups by day and model, as in the lake.

    There are at least `parallelism` groups unless they would be tiny, and no name is a `taken` one.
    """
    total = sum(entry.byte_count for entry in entries)
    most = min(max(total // max(parallelism, 1), LEAST_BYTES), MOST_BYTES)
    ordered = sorted(
        entries, key=lambda one: (partition_of(one.manifest), one.path, one.member or "")
    )
    groups = map(tuple, batches(ordered, attrgetter("byte_count"), most))
    return [
        DumpGroup(name_part((entry.state for entry in group), taken), group) for group in groups
    ]


@lru_cache(maxsize=1 << 16)
def partition_of(manifest: str) -> Partition:
    """The partition of a lake for a dump with this manifest."""
    stated = Manifest.model_validate_json(manifest)
    at = stated.captured_at
    return Partition(at.astimezone(UTC).isoformat()[:10] if at else UNKNOWN_DATE, stated.model.name)


class DecodedGroups(NamedTuple):
    """The results of groups of dumps.

    Attributes:
        added: New files, which are not committed yet.
        n_dumps: Dumps in these files.
        n_events: Profile events of these dumps.
        refused: Refusals.
        changed: Names of groups that were not written, as their dumps have changed.
    """

    added: list[AddedFile]
    n_dumps: int
    n_events: int
    refused: tuple[Refusal, ...]
    changed: set[str]


def decode_group(piece: str, *, inbox: str, lake: str, at: datetime) -> pa.Table:
    """Write the files of a group, given as JSON; returns a row of DECODED_GROUPS.

    Nothing is written if a dump has changed since its survey, or would lose a companion that the
    lake has. Files of the same dumps and time of ingest are equal, whichever machine writes them.

    Raises:
        SourceError: The dumps cannot be fetched.
        LakeError: The lake cannot be written.
    """
    group = DumpGroup.of(*json.loads(piece))
    with _local_group(group, inbox) as dumps, closing(store_in_memory()) as connection:
        connection.execute("SET threads = 1")  # each core runs a task
        with closing(StoredDumps(connection)) as stored:
            summary = ingest_dumps(stored, dumps, jobs=1)
        _set_origins(connection, group, at)
        is_changed = _is_changed(connection, group)
        added = [] if is_changed else write_group(connection, Lake(lake), group.name)
    refused = [one[:5] for one in summary.refused]
    row = {
        "name": group.name,
        "added": json.dumps(added),
        "n_dumps": 0 if is_changed else summary.n_dumps,
        "n_events": 0 if is_changed else summary.n_events,
        "refused": json.dumps([] if is_changed else refused),
        "is_changed": is_changed,
    }
    return pa.Table.from_pylist([row], schema=DECODED_GROUPS)


@contextmanager
def _local_group(group: DumpGroup, inbox: str) -> Iterator[list[Dump]]:
    """The dumps of a group, with their manifests from the survey."""
    wanted = {(entry.path, entry.member): entry.manifest for entry in group.entries}
    paths = list(dict.fromkeys(entry.path for entry in group.entries))
    with local_dumps(open_place(inbox), paths, ManifestDefaults()) as local:
        yield [
            replace(dump, manifest=partial(Manifest.model_validate_json, manifest))
            for path, member, dump in local.dumps
            if (manifest := wanted.get((path, member))) is not None
        ]


def _set_origins(connection: duckdb.DuckDBPyConnection, group: DumpGroup, at: datetime) -> None:
    """Set the time of ingest; for dumps that the lake has, their original time and source."""
    for text in _TIMES:
        connection.execute(text, {"at": at})
    for entry in group.entries:
        if entry.known:
            _, source, known_at, *_ = entry.known
            original = {"source": source, "at": datetime.fromisoformat(known_at)}
            connection.execute(_ORIGINAL, {"sha256": entry.sha256, **original})


def _is_changed(connection: duckdb.DuckDBPyConnection, group: DumpGroup) -> bool:
    """Whether a dump is gone, or an ETRecord or debug buffer that the lake has for it."""
    taken = {sha256: companions for sha256, *companions in connection.execute(_TAKEN).fetchall()}
    return any(
        entry.sha256 not in taken or (entry.known and _lacks(taken[entry.sha256], entry.known[3:]))
        for entry in group.entries
    )


def _lacks(companions: Sequence[object], known: Sequence[object]) -> bool:
    pairs = zip(companions, known, strict=True)
    return any(old is not None and new is None for new, old in pairs)


def decode_groups(
    tasks: Tasks, groups: Iterable[DumpGroup], *, inbox: str, lake: str, at: datetime
) -> DecodedGroups:
    """Decode groups, each in a task of its own; `at` is the time of ingest of the dumps.

    Raises:
        SparkError: A task failed repeatedly.
    """
    pieces = [json.dumps(group) for group in groups]
    work = partial(decode_group, inbox=inbox, lake=lake, at=at)
    rows = tasks.run(pieces, work, DECODED_GROUPS).to_pylist()
    return DecodedGroups(
        [AddedFile(*file) for row in rows for file in json.loads(row["added"])],
        sum(row["n_dumps"] for row in rows),
        sum(row["n_events"] for row in rows),
        tuple(Refusal(*one) for row in rows for one in json.loads(row["refused"])),
        {row["name"] for row in rows if row["is_changed"]},
    )
