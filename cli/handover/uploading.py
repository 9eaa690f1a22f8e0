"""Dumps at some paths sent to a service: what became of them, shown."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from cli.exit_codes import fail
from cli.handover.delivering import CONFLICT, DeliveryResult, ServiceUploader, hand_over
from cli.output.ingest_report import write_oddities, write_refusals
from cli.output.interrupt import interruptible_progress
from cli.output.progress import progress_bar
from cli.output.render import Format, write_table

if TYPE_CHECKING:
    import pyarrow as pa

    from cli.remote.choice import ServiceChoice
    from ingest.incoming import FoundDumps
    from warehouse.loading.records import Refusal

THREADS = 4


@dataclass
class UploadSummary:
    """What became of dumps that were sent.

    Attributes:
        accepted: Those that are new to the service.
        known: Those that it had.
        byte_count: Size of both.
        refused: Those that it did not take, or that could not be sent.
    """

    accepted: int = 0
    known: int = 0
    byte_count: int = 0
    refused: list[Refusal] = field(default_factory=list)

    def add(self, one: DeliveryResult) -> None:
        """Count one dump."""
        if one.refusal:
            self.refused.append(one.refusal)
            return
        self.byte_count += one.byte_count
        if one.is_new:
            self.accepted += 1
        else:
            self.known += 1

    def table(self, seconds: float) -> pa.Table:
        """One row; files are accepted, known, conflicts and refused ones together."""
        import pyarrow as pa

        conflicts = sum(refusal.reason == CONFLICT for refusal in self.refused)
        row = {
            "files": self.accepted + self.known + len(self.refused),
            "accepted": self.accepted,
            "known": self.known,
            "conflicts": conflicts,
            "refused": len(self.refused) - conflicts,
            "megabytes": self.byte_count / 1e6,
            "seconds": seconds,
        }
        return pa.Table.from_pylist([row])


class _Sent(NamedTuple):
    """How far it has come."""

    done_files: int
    total_files: int
    n_events: int = 0


class UploadOptions(NamedTuple):
    """How dumps are sent, and what is printed of it.

    Attributes:
        jobs: Connections; None for THREADS.
        retry_seconds: How long each dump is tried while the service is away or busy.
        output: Format of the summary.
        is_csv_safe: Whether a spreadsheet must not take its texts for formulas.
        is_quiet: Whether neither progress nor notes are shown.
        keep_going: Whether refusals are no failure.
    """

    jobs: int | None
    retry_seconds: float
    output: Format
    is_csv_safe: bool
    is_quiet: bool
    keep_going: bool


def upload_found(service: ServiceChoice, found: FoundDumps, options: UploadOptions) -> None:
    """Send dumps to a service, and print what became of them.

    What was sent before changes nothing there, so that it can be done again whatever happened.

    Raises:
        ServiceError: The service cannot be reached, or takes nothing.
        Exit: Some dumps were refused, and that counts.
    """
    start, summary = time.perf_counter(), UploadSummary()
    with (
        ServiceUploader(service, retry_seconds=options.retry_seconds) as taker,
        progress_bar(is_quiet=options.is_quiet, has_events=False) as bar,
        interruptible_progress(bar) as progress,
    ):
        for number, one in enumerate(hand_over(found, taker, threads=options.jobs or THREADS), 1):
            summary.add(one)
            progress(_Sent(number, len(found)))
    table = summary.table(time.perf_counter() - start)
    write_table(table, options.output, is_csv_safe=options.is_csv_safe)
    write_refusals(summary.refused, remedy="correct these first, and send them again")
    if not options.is_quiet:
        write_oddities(found.notes)
    if summary.refused and not options.keep_going:
        fail()
