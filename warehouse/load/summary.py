"""What an ingest has done, and how far it has come."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NamedTuple

from ingest.dump import Refusal
from warehouse.engine.long_values import LongValues


class IngestProgress(NamedTuple):
    """How far an ingest has come.

    Attributes:
        done_files: Dumps handled, or segments replayed.
        total_files: Dumps, or segments, known so far.
        done_bytes: Bytes read.
        n_events: Events committed.
        coming: Long values in the next commit; none after a commit.
    """

    done_files: int
    total_files: int
    done_bytes: int
    n_events: int
    coming: LongValues = LongValues()


@dataclass(frozen=True)
class IngestSummary:
    """What an ingest did; summaries of parts can be added.

    Attributes:
        n_files: Files handled: dumps, and companions that were refused.
        n_dumps: Dumps committed.
        n_events: Profile events in them.
        byte_count: Bytes of dumps read, duplicates and refused ones included.
        n_duplicates: Files that were in the store already, under the same manifest.
        n_conflicts: Files whose bytes are in the store under another manifest.
        refused: Files that were refused, conflicts included.
        notes: Oddities of the manifests, as sentences.
        doubts: Disagreements between ETRecords and their dumps, and clocks that cannot be right,
            as sentences.
        seconds: Wall time, the listing of the paths included.
    """

    n_files: int = 0
    n_dumps: int = 0
    n_events: int = 0
    byte_count: int = 0
    n_duplicates: int = 0
    n_conflicts: int = 0
    refused: tuple[Refusal, ...] = ()
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    seconds: float = 0.0

    def __add__(self, other: IngestSummary) -> IngestSummary:
        """The sum of both."""
        names = (field.name for field in fields(self))
        return IngestSummary(*(getattr(self, name) + getattr(other, name) for name in names))
