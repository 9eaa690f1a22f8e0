"""The result and progress of an ingest."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields
from typing import NamedTuple

from tracehouse.ingest.dump import Refusal
from tracehouse.warehouse.engine.memory_limit import LongValues


class IngestProgress(NamedTuple):
    """Progress of an ingest.

    Attributes:
        done_files: Dumps handled, or segments replayed.
        total_files: Dumps, or segments, known so far.
        done_bytes: Bytes read.
        n_events: Events committed.
        coming: Long values in the next commit; empty after a commit.
    """

    done_files: int
    total_files: int
    done_bytes: int
    n_events: int
    coming: LongValues = LongValues()


@dataclass(frozen=True)
class IngestSummary:
    """The result of an ingest; summaries of parts can be added.

    Attributes:
        n_files: Files handled: dumps, and companions that were refused.
        n_dumps: Dumps committed.
        pools: Number of them by the pool of their device.
        n_events: Profile events in these dumps.
        byte_count: Bytes of dumps read, including duplicates and refused dumps.
        n_duplicates: Files that were already in the store with the same manifest.
        n_conflicts: Files whose bytes are in the store with another manifest.
        refused: Refused files, including conflicts.
        notes: Oddities of the manifests, as sentences.
        doubts: Disagreements between ETRecords and their dumps, and implausible clocks, as
            sentences.
        seconds: Wall time, including the listing of the paths.
    """

    n_files: int = 0
    n_dumps: int = 0
    pools: Counter[str | None] = field(default_factory=Counter)
    n_events: int = 0
    byte_count: int = 0
    n_duplicates: int = 0
    n_conflicts: int = 0
    refused: tuple[Refusal, ...] = ()
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    seconds: float = 0.0

    def __add__(self, other: IngestSummary) -> IngestSummary:
        names = (one.name for one in fields(self))
        return IngestSummary(*(getattr(self, name) + getattr(other, name) for name in names))
