"""`tracehouse ingest --dry-run`: an ingest into a temporary store."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tracehouse.cli.output.ingest_report import write_notes, write_passed_over, write_refusals
from tracehouse.cli.output.progress import progress_bar
from tracehouse.cli.output.streams import write_note
from tracehouse.cli.stores import open_to_read, open_to_write
from tracehouse.queries.report.figures import count_text

if TYPE_CHECKING:
    import pyarrow as pa

    from tracehouse.ingest.dump import FoundDumps
    from tracehouse.warehouse.load.summary import IngestSummary

_COLUMNS = ("device", "pool", "model", "backend", "build", "dump_count", "run_count", "event_count")
_HASHES = "SELECT sha256 FROM dumps"


def try_ingest(
    store: Path, found: FoundDumps, *, jobs: int | None, is_quiet: bool
) -> tuple[pa.Table, IngestSummary]:
    """Decode dumps as an ingest would, without changing the store.

    Prints refusals, notes and the number of dumps that the store already has on standard error.

    Returns:
        A row per device, model and build with the dumps to load, and the summary of an ingest into
        an empty store.
    """
    with (
        TemporaryDirectory(prefix="tracehouse-trial-") as folder,
        open_to_write(Path(folder) / "store", create=True) as trial,
        progress_bar(is_quiet=is_quiet) as progress,
    ):
        summary = trial.ingest(found, jobs=jobs, progress=progress)
        table = trial.query("coverage").select(_COLUMNS)
        hashes = set(trial.sql(_HASHES)["sha256"].to_pylist())
    write_refusals(summary.refused, remedy="correct these first")
    if not is_quiet:
        write_passed_over(found.passed_over)
        write_notes(summary)
    known = len(hashes & _read_hashes(store))
    write_note(
        f"dry run: nothing was written; new: {count_text(len(hashes) - known, 'dump')}, already in "
        f"{store}: {known:,}, refused: {count_text(len(summary.refused), 'file')}"
    )
    return table, summary


def _read_hashes(store: Path) -> set[str]:
    """Hashes of the dumps in a store; none if there is no store yet."""
    if not os.path.exists(store):
        return set()
    with open_to_read(store) as warehouse:
        return set(warehouse.sql(_HASHES)["sha256"].to_pylist())
