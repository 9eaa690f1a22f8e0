"""What an ingest did: a table of counts, and a line per refused file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cli.text import printable

if TYPE_CHECKING:
    import pyarrow as pa

    from warehouse.ingestion import IngestSummary
    from warehouse.load import Refusal

REFUSALS_SHOWN = 20


def summary_table(summary: IngestSummary) -> pa.Table:
    """One row; files are dumps, duplicates, conflicts and refused ones together."""
    import pyarrow as pa

    row = {
        "files": summary.n_files,
        "dumps": summary.n_dumps,
        "events": summary.n_events,
        "megabytes": summary.byte_count / 1e6,
        "events_per_second": summary.n_events / summary.seconds,
        "duplicates": summary.n_duplicates,
        "conflicts": summary.n_conflicts,
        "refused": len(summary.refused) - summary.n_conflicts,
        "seconds": summary.seconds,
    }
    return pa.Table.from_pylist([row])


def write_refusals(refused: Sequence[Refusal]) -> None:
    """Print the first REFUSALS_SHOWN on standard error, and how many more there are."""
    for refusal in refused[:REFUSALS_SHOWN]:
        sys.stderr.write(f"refused: {printable(_sentence(refusal))}\n")
    if len(refused) > REFUSALS_SHOWN:
        more = len(refused) - REFUSALS_SHOWN
        sys.stderr.write(f"and {more:,} more; list them with: tracehouse query ingest_errors\n")


def write_doubts(doubts: Sequence[str]) -> None:
    """Print on standard error what ETRecords and dumps disagree on, REFUSALS_SHOWN at most."""
    for doubt in doubts[:REFUSALS_SHOWN]:
        sys.stderr.write(f"note: {printable(doubt)}\n")
    if len(doubts) > REFUSALS_SHOWN:
        more = len(doubts) - REFUSALS_SHOWN
        sys.stderr.write(f"and {more:,} more; they stand in event_origins.doubt\n")


def _sentence(refusal: Refusal) -> str:
    place = "" if refusal.byte_offset is None else f"offset {refusal.byte_offset:,}: "
    return f"{refusal.source}: {place}{refusal.detail} [{refusal.reason}]"
