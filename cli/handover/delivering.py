"""Dumps handed over by several threads; each is accepted, already known, or refused."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from http import HTTPStatus
from queue import Empty, SimpleQueue
from typing import NamedTuple

from cli.remote.choice import ServiceChoice
from ingest.dump import Dump, Refusal
from ingest.errors import ManifestError, ServiceError, SourceError
from ingest.remote.connection import ServiceConnection
from ingest.remote.uploading import upload_dump

_DUMP_AT_FAULT = {
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.CONFLICT,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
}
_POOL = "pool"  # the token is for other pools of devices
CONFLICT = "conflict"
FAILED = "failed"

Take = Callable[[Dump], bool]  # returns whether the dump is new


class DeliveryResult(NamedTuple):
    """The outcome of handing over one dump.

    Attributes:
        byte_count: Size of the dump, as far as it is known.
        is_new: Whether the dump was accepted and not known before.
    """

    name: str
    byte_count: int
    is_new: bool
    refusal: Refusal | None = None


def hand_over(dumps: Iterable[Dump], take: Take, *, threads: int) -> Iterator[DeliveryResult]:
    """Hand dumps over and yield their outcomes, in order; each dump is read when its turn comes.

    A fault of one dump becomes its refusal. Any other error of `take` is raised.

    The dumps are iterated over by this thread, and `take` is called in several.

    Raises:
        ServiceError: The service accepts nothing.
        StoreError: The inbox accepts nothing.
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


@contextmanager
def service_uploader(service: ServiceChoice, *, retry_seconds: float) -> Iterator[Take]:
    """Yield a function that sends a dump to a service, which several threads may call at once.

    The function raises ServiceError if the service does not accept the dump, and SourceError if the
    dump, its ETRecord or its debug buffer cannot be read.
    """
    service.connect().close()  # reports a malformed address at once
    idle: SimpleQueue[ServiceConnection] = SimpleQueue()

    def send(dump: Dump) -> bool:
        try:
            connection = idle.get_nowait()
        except Empty:
            connection = opened.enter_context(service.connect(retry_seconds=retry_seconds))
        try:
            receipt = upload_dump(
                connection,
                dump.read(),
                dump.manifest().canonical_json(),
                etrecord=dump.etrecord and dump.etrecord.read(),
                debug_buffer=dump.debug_buffer and dump.debug_buffer.read(),
            )
        finally:
            idle.put(connection)
        return receipt.is_new

    with ExitStack() as opened:
        yield send


def _begin(pool: ThreadPoolExecutor, incoming: Dump, take: Take) -> Future[DeliveryResult]:
    try:
        manifest = incoming.manifest()
    except (ManifestError, SourceError) as error:
        future: Future[DeliveryResult] = Future()
        future.set_result(_refused(incoming, Refusal.of_error(incoming.name, error)))
        return future
    return pool.submit(_hand_over, replace(incoming, manifest=lambda: manifest), take)


def _hand_over(incoming: Dump, take: Take) -> DeliveryResult:
    try:
        return DeliveryResult(incoming.name, incoming.byte_count, take(incoming))
    except SourceError as error:
        return _refused(incoming, Refusal.of_error(incoming.name, error))
    except ServiceError as error:
        reason = error.reason
        if error.status == HTTPStatus.INTERNAL_SERVER_ERROR:  # other dumps may succeed
            reason = FAILED
        elif error.status not in _DUMP_AT_FAULT and reason != _POOL:
            raise
        return _refused(incoming, Refusal(incoming.name, None, reason, None, error.detail))


def _refused(dump: Dump, refusal: Refusal) -> DeliveryResult:
    return DeliveryResult(dump.name, dump.byte_count, is_new=False, refusal=refusal)
