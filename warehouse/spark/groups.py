"""Which dumps an ingest takes, and which of them together: decided by the driver. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC
from functools import lru_cache
from typing import Any, NamedTuple

from ingest.manifest.models import Manifest
from warehouse.intake.verdicts import describe_conflict
from warehouse.lake.layout import UNKNOWN_DATE, Partition, name_part
from warehouse.spark.surveys import Surveyed

MOST_BYTES = 96 << 20  # of dumps that are decoded together
LEAST_BYTES = 8 << 20

_OF_PLACES = {"manifest", "conflict", "unreadable"}  # why a dump is refused, whatever its bytes are


class KnownRefusal(NamedTuple):
    """A refusal that a lake has on record."""

    source: str
    sha256: str | None
    reason: str
    detail: str | None


class DumpToTake(NamedTuple):
    """A dump to decode: where its bytes are, what they are, and its manifest as JSON."""

    path: str
    member: str | None
    sha256: str
    byte_count: int
    manifest: str


class DumpGroup(NamedTuple):
    """Dumps that are decoded together; the name is that of all files that come of it."""

    name: str
    entries: tuple[DumpToTake, ...]

    @property
    def partitions(self) -> set[Partition]:
        """Where its rows are in a lake."""
        return {partition_of(entry.manifest) for entry in self.entries}

    @classmethod
    def of(cls, name: str, entries: Iterable[Sequence[Any]]) -> DumpGroup:
        """The group that these values, out of JSON, are of."""
        return cls(name, tuple(DumpToTake(*entry) for entry in entries))


class Judged(NamedTuple):
    """What is to be done about dumps.

    Attributes:
        entries: Those to decode, each of different bytes.
        refused: Those that are refused, and are not on record yet.
        n_known: How many the lake has already, or has refused before.
    """

    entries: list[DumpToTake]
    refused: list[KnownRefusal]
    n_known: int


def judge(
    surveyed: Iterable[Surveyed], known: Mapping[str, str], refusals: Collection[KnownRefusal]
) -> Judged:
    """Tell new dumps from those that are known or refused; the first of several alike is taken.

    Args:
        surveyed: Dumps in order.
        known: Manifests of dumps that the lake has, by SHA-256.
        refusals: What the lake has on record about these dumps.
    """
    manifests = dict(known)
    bad = {(one.source, one.sha256) for one in refusals if one.reason not in _OF_PLACES}
    recorded = set(refusals)
    entries: list[DumpToTake] = []
    refused: dict[KnownRefusal, None] = {}
    n_known = 0
    for dump in surveyed:
        refusal = _refuse(dump, manifests)
        if refusal in recorded or (refusal is None and _is_known(dump, manifests, bad)):
            n_known += 1
        elif refusal:
            refused[refusal] = None
        elif dump.sha256 and dump.manifest:
            manifests[dump.sha256] = dump.manifest
            entries.append(
                DumpToTake(dump.path, dump.member, dump.sha256, dump.byte_count, dump.manifest)
            )
    return Judged(entries, list(refused), n_known)


def _refuse(dump: Surveyed, manifests: Mapping[str, str]) -> KnownRefusal | None:
    if dump.reason:
        return KnownRefusal(dump.source, dump.sha256, dump.reason, dump.detail)
    there = manifests.get(dump.sha256 or "")
    if there is None or there == dump.manifest:
        return None
    detail = describe_conflict(dump.sha256 or "", dump.manifest or "", there)
    return KnownRefusal(dump.source, dump.sha256, "conflict", detail)


def _is_known(
    dump: Surveyed, manifests: Mapping[str, str], bad: Collection[tuple[str, str | None]]
) -> bool:
    return dump.sha256 in manifests or (dump.source, dump.sha256) in bad


def group_entries(
    entries: Sequence[DumpToTake], *, parallelism: int, taken: Collection[str] = ()
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
    groups = map(tuple, _fill(ordered, most))
    return [
        DumpGroup(name_part((entry.sha256 for entry in group), taken), group) for group in groups
    ]


def _fill(entries: Iterable[DumpToTake], most_bytes: int) -> Iterator[list[DumpToTake]]:
    group: list[DumpToTake] = []
    size = 0
    for entry in entries:
        if group and size + entry.byte_count > most_bytes:
            yield group
            group, size = [], 0
        group.append(entry)
        size += entry.byte_count
    if group:
        yield group


@lru_cache(maxsize=1 << 16)
def partition_of(manifest: str) -> Partition:
    """Where the rows of a dump are in a lake, by its manifest as JSON."""
    stated = Manifest.model_validate_json(manifest)
    at = stated.captured_at
    return Partition(at.astimezone(UTC).isoformat()[:10] if at else UNKNOWN_DATE, stated.model.name)
