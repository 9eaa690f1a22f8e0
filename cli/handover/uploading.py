"""Dumps uploaded to a service, and the summary that is printed."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from tracehouse.cli.errors import fail
from tracehouse.cli.handover.delivering import CONFLICT, DeliveryResult, hand_over, service_uploader
from tracehouse.cli.output.ingest_report import (
    write_arrivals,
    write_oddities,
    write_passed_over,
    write_refusals,
)
from tracehouse.cli.output.options import OutputOptions
from tracehouse.cli.output.progress import interruptible_bar
from tracehouse.cli.output.store_contents import KINDS, NIGHTLY_REPORT, Arrivals

if TYPE_CHECKING:
    from tracehouse.cli.remote import ServiceChoice
    from tracehouse.ingest.dump import Refusal
    from tracehouse.ingest.found_dumps import FoundDumps

THREADS = 4


@dataclass
class UploadSummary:
    """Counts of uploaded dumps.

    Attributes:
        accepted: Dumps that are new to the service.
        known: Dumps that the service already had.
        byte_count: Size of both.
        refused: Dumps that the service refused or that could not be sent.
        passed_over: Number of files that are neither dumps nor belong to dumps.
        names: Devices, builds and models of the dumps that the service has, by kind.
    """

    accepted: int = 0
    known: int = 0
    byte_count: int = 0
    refused: list[Refusal] = field(default_factory=list)
    passed_over: int = 0
    names: dict[str, set[str]] = field(default_factory=lambda: {kind: set() for kind in KINDS})

    def add(self, one: DeliveryResult) -> None:
        """Count one dump."""
        if one.refusal:
            self.refused.append(one.refusal)
            return
        self.byte_count += one.byte_count
        for kind, name in one.names.items():
            self.names[kind].add(name)
        if one.is_new:
            self.accepted += 1
        else:
            self.known += 1

    @property
    def arrivals(self) -> Arrivals | None:
        """What was understood of the dumps; None if the service got none."""
        if not self.accepted + self.known:
            return None
        return Arrivals({kind: sorted(names) for kind, names in self.names.items()}, NIGHTLY_REPORT)

    def row(self, seconds: float) -> dict[str, object]:
        """The counts; `files` counts accepted, known, conflicting and refused dumps."""
        conflicts = sum(refusal.reason == CONFLICT for refusal in self.refused)
        return {
            "files": self.accepted + self.known + len(self.refused),
            "accepted": self.accepted,
            "known": self.known,
            "conflicts": conflicts,
            "refused": len(self.refused) - conflicts,
            "passed_over": self.passed_over,
            "megabytes": self.byte_count / 1e6,
            "seconds": seconds,
        }


class _UploadProgress(NamedTuple):
    """Progress of an upload."""

    done_files: int
    total_files: int
    n_events: int = 0


class UploadOptions(NamedTuple):
    """Options of an upload.

    Attributes:
        jobs: Connections; None for THREADS.
        retry_seconds: How long each dump is retried while the service is unreachable or busy.
        is_quiet: Whether to print neither progress nor notes.
        keep_going: Whether the command succeeds despite refusals.
    """

    jobs: int | None
    retry_seconds: float
    is_quiet: bool
    keep_going: bool


def upload_found(
    service: ServiceChoice, found: FoundDumps, options: UploadOptions, output: OutputOptions
) -> None:
    """Send dumps to a service and print a summary; sending a dump twice is harmless.

    Raises:
        ServiceError: The service cannot be reached, or accepts nothing.
        Exit: Dumps were refused, and `keep_going` is off.
    """
    start = time.perf_counter()
    summary = UploadSummary(passed_over=found.passed_over.total())
    with (
        service_uploader(service, retry_seconds=options.retry_seconds) as taker,
        interruptible_bar(is_quiet=options.is_quiet, has_events=False) as progress,
    ):
        groups = hand_over(found, taker, threads=options.jobs or THREADS)
        for number, one in enumerate(chain.from_iterable(groups), 1):
            summary.add(one)
            progress(_UploadProgress(number, len(found)))
    output.write_rows([summary.row(time.perf_counter() - start)])
    write_refusals(summary.refused, remedy="correct the first ones and send them again")
    if not options.is_quiet:
        write_passed_over(found.passed_over)
        write_oddities(found.notes)
        if sys.stderr.isatty():
            write_arrivals(summary.arrivals, ("--url", service.url))
    if summary.refused and not options.keep_going:
        fail()
