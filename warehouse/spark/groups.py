"""Which dumps an ingest takes, and which of them together: decided by the driver. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple

from ingest.batching import batches
from ingest.manifest.models import Manifest
from warehouse.lake.layout import UNKNOWN_DATE, Partition, name_part
from warehouse.load.faults import describe_conflict
from warehouse.spark.surveys import DumpFacts

MOST_BYTES = 96 << 20  # of dumps that are decoded together
LEAST_BYTES = 8 << 20

_OF_PLACES = {"manifest", "conflict", "unreadable"}  # why a dump is refused, whatever its bytes are


class KnownRefusal(NamedTuple):
    """A refusal that a lake has on record."""

    source: str
    sha256: str | None
    reason: str
    detail: str | None


class KnownDump(NamedTuple):
    """A dump that a lake has: its manifest, whence and when it came, and what came with it."""

    manifest: str
    source: str
    ingested_at: str
    etrecord_id: int | None = None
    debug_buffer_sha256: str | None = None


class DumpToDecode(NamedTuple):
    """A dump to decode.

    Attributes:
        path: The file that it is, or is in.
        member: What it is called in that file, a zip.
        sha256: SHA-256 of its bytes.
        byte_count: Their number.
        manifest: What they do not say, as JSON.
        known: What the lake has of it, if it is to be written anew.
    """

    path: str
    member: str | None
    sha256: str
    byte_count: int
    manifest: str
    known: KnownDump | None = None

    @property
    def state(self) -> str:
        """Its hash, and if it is written anew what it was."""
        return self.sha256 if self.known is None else f"{self.sha256} {self.known[3:]}"

    @classmethod
    def of(cls, *values: Any) -> DumpToDecode:
        """The dump that these values, out of JSON, are of."""
        dump = cls(*values)
        return dump._replace(known=dump.known and KnownDump(*dump.known))


class DumpGroup(NamedTuple):
    """Dumps that are decoded together; the name is that of all files that come of it."""

    name: str
    entries: tuple[DumpToDecode, ...]

    @property
    def partitions(self) -> set[Partition]:
        """Where its rows are in a lake."""
        return {partition_of(entry.manifest) for entry in self.entries}

    @classmethod
    def of(cls, name: str, entries: Iterable[Sequence[Any]]) -> DumpGroup:
        """The group that these values, out of JSON, are of."""
        return cls(name, tuple(DumpToDecode.of(*entry) for entry in entries))


class IngestDecision(NamedTuple):
    """What is to be done about dumps.

    Attributes:
        entries: Those to decode, each of different bytes.
        late: Those that the lake has, but lacks what has come to lie beside them.
        refused: Those that are refused, and are not on record yet.
        n_known: How many the lake has already, or has refused before.
    """

    entries: list[DumpToDecode]
    late: list[DumpToDecode]
    refused: list[KnownRefusal]
    n_known: int


def judge(
    surveyed: Iterable[DumpFacts],
    known: Mapping[str, KnownDump],
    refusals: Collection[KnownRefusal],
) -> IngestDecision:
    """Tell new dumps from those that are known or refused; the first of several alike is taken.

    Args:
        surveyed: Dumps in order.
        known: Dumps that the lake has, by SHA-256.
        refusals: What the lake has on record about these dumps, and what comes with them.
    """
    manifests = {sha256: dump.manifest for sha256, dump in known.items()}
    bad = {(one.source, one.sha256) for one in refusals if one.reason not in _OF_PLACES}
    recorded = set(refusals)
    entries: list[DumpToDecode] = []
    late: dict[str, DumpToDecode] = {}
    refused: dict[KnownRefusal, None] = {}
    n_known = 0
    for dump in surveyed:
        refusal = _refuse(dump, manifests)
        if refusal in recorded or (refusal is None and _is_known(dump, manifests, bad)):
            n_known += 1
            there = known.get(dump.sha256 or "")
            if there and refusal is None and _has_more(dump, there, bad):
                late.setdefault(dump.sha256 or "", _entry(dump, there))
        elif refusal:
            refused[refusal] = None
        elif dump.sha256 and dump.manifest:
            manifests[dump.sha256] = dump.manifest
            entries.append(_entry(dump))
    return IngestDecision(entries, list(late.values()), list(refused), n_known)


def _entry(dump: DumpFacts, known: KnownDump | None = None) -> DumpToDecode:
    sha256, manifest = dump.sha256 or "", dump.manifest or ""
    return DumpToDecode(dump.path, dump.member, sha256, dump.byte_count, manifest, known)


def _refuse(dump: DumpFacts, manifests: Mapping[str, str]) -> KnownRefusal | None:
    if dump.reason:
        return KnownRefusal(dump.source, dump.sha256, dump.reason, dump.detail)
    there = manifests.get(dump.sha256 or "")
    if there is None or there == dump.manifest:
        return None
    detail = describe_conflict(dump.sha256 or "", dump.manifest or "", there)
    return KnownRefusal(dump.source, dump.sha256, "conflict", detail)


def _is_known(
    dump: DumpFacts, manifests: Mapping[str, str], bad: Collection[tuple[str, str | None]]
) -> bool:
    return dump.sha256 in manifests or (dump.source, dump.sha256) in bad


def _has_more(
    dump: DumpFacts, known: KnownDump, bad: Collection[tuple[str | None, str | None]]
) -> bool:
    """Whether an ETRecord or debug buffer lies beside a dump where the lake has none of it.

    One that was refused counts for nothing; and what the lake has must lie there still.
    """
    beside = (
        (dump.etrecord, dump.etrecord_sha256, known.etrecord_id),
        (dump.debug_buffer, dump.debug_buffer_sha256, known.debug_buffer_sha256),
    )
    if any(there is not None and name is None for name, _, there in beside):
        return False
    return any(
        there is None and sha256 is not None and (name, sha256) not in bad
        for name, sha256, there in beside
    )


def group_entries(
    entries: Sequence[DumpToDecode], *, parallelism: int, taken: Collection[str] = ()
) -> list[DumpGroup]:
    """Dumps in groups: those of a day and model together, as they are in the lake.

    Args:
        entries: Dumps to decode.
        parallelism: Groups there should be at least, unless they would be tiny.
        taken: Names that are not to be used again.
    """
    total = sum(entry.byte_count for entry in entries)
    most = min(max(total // max(parallelism, 1), LEAST_BYTES), MOST_BYTES)
    ordered = sorted(entries, key=lambda entry: (partition_of(entry.manifest), entry))
    groups = map(tuple, batches(ordered, attrgetter("byte_count"), most))
    return [
        DumpGroup(name_part((entry.state for entry in group), taken), group) for group in groups
    ]


@lru_cache(maxsize=1 << 16)
def partition_of(manifest: str) -> Partition:
    """Where the rows of a dump are in a lake, by its manifest as JSON."""
    stated = Manifest.model_validate_json(manifest)
    at = stated.captured_at
    return Partition(at.astimezone(UTC).isoformat()[:10] if at else UNKNOWN_DATE, stated.model.name)
