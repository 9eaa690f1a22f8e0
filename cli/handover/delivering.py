"""Dumps handed over by several threads; each is accepted, already known, or refused."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from types import MappingProxyType
from typing import NamedTuple

from tracehouse.cli.remote import ServiceChoice
from tracehouse.ingest.batching import batches
from tracehouse.ingest.dump import Dump, Refusal
from tracehouse.ingest.errors import ManifestError, ServiceError, SourceError
from tracehouse.ingest.remote import MOST_DUMPS, OutgoingDump, Pool, Receipt, is_refusal

CONFLICT = "conflict"
FAILED = "failed"

_GROUP_BYTES = 8 << 20  # of dumps and companions that are handed over together
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


def _with_manifest(dump: Dump) -> Dump | DeliveryResult:
    """The dump with its manifest; without a valid one, its refusal."""
    try:
        manifest = dump.manifest()
    except (ManifestError, SourceError) as error:
        return _refused(dump, error)
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
        return _refused(dump, taken)
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


def _refused(dump: Dump, error: ManifestError | SourceError) -> DeliveryResult:
    refusal = Refusal.of_error(dump.name, error)
    return DeliveryResult(dump.name, dump.byte_count, is_new=False, refusal=refusal)
