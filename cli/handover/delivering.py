"""Dumps handed over by several threads, to an inbox or a service, and what `upload` prints."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from http import HTTPStatus
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from tracehouse.cli.errors import fail
from tracehouse.cli.output.ingest_report import (
    write_arrivals,
    write_oddities,
    write_passed_over,
    write_refusals,
)
from tracehouse.cli.output.options import OutputOptions
from tracehouse.cli.output.progress import interruptible_bar
from tracehouse.cli.output.store_contents import KINDS, NIGHTLY_REPORT, Arrivals
from tracehouse.cli.remote import ServiceChoice
from tracehouse.ingest.batching import batches
from tracehouse.ingest.dump import Dump, Refusal
from tracehouse.ingest.errors import ManifestError, ServiceError, SourceError
from tracehouse.ingest.remote import MOST_DUMPS, OutgoingDump, Pool, Receipt, is_refusal

if TYPE_CHECKING:
    from tracehouse.ingest.dump import FoundDumps

THREADS = 4
CONFLICT = "conflict"
FAILED = "failed"

_GROUP_BYTES = 8 << 20  # dumps and companions in a group have no more, unless it is one dump
_GROUP_DUMPS = MOST_DUMPS // 2

# Returns for each dump whether it is new, or its fault.
Take = Callable[[Sequence[Dump]], Sequence[bool | ServiceError | SourceError]]


class DeliveryResult(NamedTuple):
    """The outcome of handing over one dump.

    Attributes:
        byte_count: Size of the dump, as far as it is known.
        is_new: Whether the dump was accepted and not known before.
        names: Its device, build and model, by kind, if it was handed over.
    """

    name: str
    byte_count: int
    is_new: bool
    refusal: Refusal | None = None
    names: Mapping[str, str] = MappingProxyType({})


def hand_over(dumps: Iterable[Dump], take: Take, *, threads: int) -> Iterator[list[DeliveryResult]]:
    """Hand dumps over in groups and yield the outcomes of each group, in order.

    A group is read when its turn comes. A fault of one dump becomes its refusal. Any other error
    of `take` is raised.

    The dumps are iterated over by this thread, and `take` is called in several.

    Raises:
        ServiceError: The service accepts nothing.
        StoreError: The inbox accepts nothing.
    """
    groups = batches(map(_with_manifest, dumps), _size, _GROUP_BYTES, _GROUP_DUMPS)
    waiting: deque[Future[list[DeliveryResult]]] = deque()
    with ThreadPoolExecutor(threads, "handover") as pool:
        try:
            for group in groups:
                waiting.append(pool.submit(_hand_over, group, take))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


@contextmanager
def service_uploader(service: ServiceChoice, *, retry_seconds: float) -> Iterator[Take]:
    """Yield a function that sends dumps to a service, which several threads may call at once.

    The function raises ServiceError if the service accepts nothing.
    """
    connections = Pool(partial(service.connect, retry_seconds=retry_seconds))

    def send(dumps: Sequence[Dump]) -> list[bool | ServiceError | SourceError]:
        read = [_read(one) for one in dumps]
        outgoing = [one for one in read if isinstance(one, OutgoingDump)]
        with connections.lend() as connection:
            receipts = iter(connection.upload(outgoing))
        results = [one if isinstance(one, SourceError) else next(receipts) for one in read]
        return [one.is_new if isinstance(one, Receipt) else one for one in results]

    with closing(connections):
        yield send


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


def _with_manifest(dump: Dump) -> Dump | DeliveryResult:
    """The dump with its manifest; without a valid one, its refusal."""
    try:
        manifest = dump.manifest()
    except (ManifestError, SourceError) as error:
        return _refuse(dump, error)
    return replace(dump, manifest=lambda: manifest)


def _size(one: Dump | DeliveryResult) -> int:
    """Bytes to read; a file of unknown size is handed over alone."""
    if isinstance(one, DeliveryResult):
        return 0
    companions = (file.byte_count for file in (one.etrecord, one.debug_buffer) if file)
    return sum(byte_count or _GROUP_BYTES for byte_count in (one.byte_count, *companions))


def _read(dump: Dump) -> OutgoingDump | SourceError:
    record, buffer = dump.etrecord, dump.debug_buffer
    manifest = dump.manifest().canonical_json()
    try:
        return OutgoingDump(
            dump.read(), manifest, record and record.read(), buffer and buffer.read()
        )
    except SourceError as error:
        return error


def _hand_over(group: Sequence[Dump | DeliveryResult], take: Take) -> list[DeliveryResult]:
    """The outcomes of a group, whose refused dumps are skipped."""
    dumps = [one for one in group if isinstance(one, Dump)]
    taken = iter(take(dumps) if dumps else ())
    return [_outcome(one, next(taken)) if isinstance(one, Dump) else one for one in group]


def _outcome(dump: Dump, taken: bool | ServiceError | SourceError) -> DeliveryResult:
    """The outcome of a dump that was handed over.

    Raises:
        ServiceError: The service accepts nothing.
    """
    if isinstance(taken, SourceError):
        return _refuse(dump, taken)
    if isinstance(taken, ServiceError):
        if not is_refusal(taken):
            raise taken
        is_failure = taken.status == HTTPStatus.INTERNAL_SERVER_ERROR
        reason = FAILED if is_failure else taken.reason
        refusal = Refusal(dump.name, None, reason, None, taken.detail)
        return DeliveryResult(dump.name, dump.byte_count, is_new=False, refusal=refusal)
    stated = dump.manifest()
    names = {"device": stated.device.name, "build": stated.build.id, "model": stated.model.name}
    return DeliveryResult(dump.name, dump.byte_count, taken, names=names)


def _refuse(dump: Dump, error: ManifestError | SourceError) -> DeliveryResult:
    refusal = Refusal.of_error(dump.name, error)
    return DeliveryResult(dump.name, dump.byte_count, is_new=False, refusal=refusal)
