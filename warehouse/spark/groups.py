"""The driver's decisions: which dumps to ingest, and in which groups. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple

from tracehouse.ingest.batching import batches
from tracehouse.ingest.dump import Refusal
from tracehouse.ingest.manifest.models import Manifest
from tracehouse.warehouse.lake.layout import UNKNOWN_DATE, Partition, name_part
from tracehouse.warehouse.load.faults import describe_conflict
from tracehouse.warehouse.spark.surveys import DumpFacts, KnownDump

MOST_BYTES = 96 << 20  # of dumps that are decoded together
LEAST_BYTES = 8 << 20

_OF_PLACES = {"manifest", "conflict", "unreadable"}  # reasons that do not depend on the bytes alone


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
