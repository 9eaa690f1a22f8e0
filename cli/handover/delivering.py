"""Dumps handed over by several threads; each is taken, known already, or refused."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from http import HTTPStatus
from types import TracebackType
from typing import NamedTuple

from cli.remote.choice import ServiceChoice
from ingest.errors import ManifestError, ServiceError, SourceError
from ingest.incoming import Incoming, IncomingFile
from ingest.remote.connection import ServiceConnection
from ingest.remote.uploading import upload_dump
from warehouse.loading.records import Refusal

_DUMP_AT_FAULT = {
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.CONFLICT,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
}
_POOL = "pool"  # the token is for dumps of others
CONFLICT = "conflict"
FAILED = "failed"

Take = Callable[[Incoming], bool]  # whether it was new


class DeliveryResult(NamedTuple):
    """What became of a dump.

    Attributes:
        name: What it is called.
        byte_count: Its size, as far as it is known.
        is_new: Whether it was not there already; False if it was refused, too.
        refusal: Why it was not taken, if it was not.
    """

    name: str
    byte_count: int
    is_new: bool
    refusal: Refusal | None = None


def hand_over(dumps: Iterable[Incoming], take: Take, *, threads: int) -> Iterator[DeliveryResult]:
    """What becomes of dumps, in their order; each is read when its turn comes.

    What is at fault with one dump is its refusal. Any other error of `take` ends it all.

    Args:
        dumps: The dumps; they are looked for, and their manifests, in this thread.
        take: Takes one dump, in several threads.
        threads: How many.

    Raises:
        ServiceError: The service does not take anything.
        StoreError: The inbox does not.
    """
    waiting: deque[Future[DeliveryResult]] = deque()
    with ThreadPoolExecutor(threads, "handover") as pool:
        try:
            for incoming in dumps:
                waiting.append(_begin(pool, incoming, take))
                if len(waiting) > 4 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


class ServiceUploader:
    """Sends dumps to a service, over a connection per thread; close it when they are sent."""

    def __init__(self, service: ServiceChoice, *, retry_seconds: float) -> None:
        """Send them to a service, which is asked again for so long when it is busy."""
        self._service, self._retry_seconds = service, retry_seconds
        self._mine = threading.local()
        self._all: list[ServiceConnection] = []

    def __call__(self, incoming: Incoming) -> bool:
        """Send a dump; whether it was new there.

        Raises:
            ServiceError: It was not taken.
            SourceError: It cannot be read, or what comes with it.
        """
        connection: ServiceConnection | None = getattr(self._mine, "connection", None)
        if connection is None:
            connection = self._service.connect(retry_seconds=self._retry_seconds)
            self._mine.connection = connection
            self._all.append(connection)
        receipt = upload_dump(
            connection,
            incoming.read(),
            incoming.manifest().canonical_json(),
            etrecord=_bytes(incoming.etrecord),
            debug_buffer=_bytes(incoming.debug_buffer),
        )
        return receipt.is_new

    def __enter__(self) -> ServiceUploader:
        self._service.connect().close()  # so that a wrong address is told at once
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for connection in self._all:
            connection.close()


def _bytes(file: IncomingFile | None) -> bytes | memoryview | None:
    return None if file is None else file.read()


def _begin(pool: ThreadPoolExecutor, incoming: Incoming, take: Take) -> Future[DeliveryResult]:
    try:
        manifest = incoming.manifest()
    except (ManifestError, SourceError) as error:
        future: Future[DeliveryResult] = Future()
        future.set_result(_at_fault(incoming, error))
        return future
    return pool.submit(_hand_over, replace(incoming, manifest=lambda: manifest), take)


def _hand_over(incoming: Incoming, take: Take) -> DeliveryResult:
    try:
        return DeliveryResult(incoming.name, incoming.byte_count, take(incoming))
    except SourceError as error:
        return _at_fault(incoming, error)
    except ServiceError as error:
        if error.status == HTTPStatus.INTERNAL_SERVER_ERROR:  # others may do better
            return _refused(incoming, FAILED, error.detail)
        if error.status not in _DUMP_AT_FAULT and error.reason != _POOL:
            raise
        return _refused(incoming, error.reason, error.detail)


def _at_fault(incoming: Incoming, error: ManifestError | SourceError) -> DeliveryResult:
    reason = error.reason if isinstance(error, SourceError) else "manifest"
    detail = error.problem if error.source == incoming.name else str(error)
    return _refused(incoming, reason, detail)


def _refused(incoming: Incoming, reason: str, detail: str) -> DeliveryResult:
    refusal = Refusal(incoming.name, None, reason, None, detail)
    return DeliveryResult(incoming.name, incoming.byte_count, is_new=False, refusal=refusal)
