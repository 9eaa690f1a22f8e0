"""Uploads of dumps with their manifests and companions to a service, many in one request."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, NamedTuple

from tracehouse.ingest.errors import ServiceError
from tracehouse.ingest.remote.connection import TRANSIENT, ServiceAnswer, ServiceConnection

MOST_DUMPS = 256  # that a service takes in one request; a line of its audit log names them

_Bytes = bytes | memoryview
_PATH = "/v1/dumps:batch"
_BYTES_TYPE = "application/octet-stream"
_POOL = "pool"  # the token is for other pools of devices
_AT_FAULT = {
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.CONFLICT,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.INTERNAL_SERVER_ERROR,  # other dumps may succeed
}


class OutgoingDump(NamedTuple):
    """A dump to upload, with its manifest as JSON and its companions."""

    dump: _Bytes
    manifest: str
    etrecord: _Bytes | None = None
    debug_buffer: _Bytes | None = None

    def size(self) -> int:
        """Bytes of the dump and its companions."""
        return sum(memoryview(data).nbytes for data in self.parts().values())

    def parts(self) -> dict[str, _Bytes]:
        """The parts of the upload by name, in the order of a record."""
        companions = {"etrecord": self.etrecord, "debug_buffer": self.debug_buffer}
        given = {name: data for name, data in companions.items() if data is not None}
        return {"manifest": self.manifest.encode(), "dump": self.dump, **given}


class Receipt(NamedTuple):
    """The dump's SHA-256, and whether the dump is new to the service."""

    sha256: str
    is_new: bool


class DumpUploader:
    """Uploads dumps over one connection."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection

    def upload(self, dumps: Sequence[OutgoingDump]) -> list[Receipt | ServiceError]:
        """The result of each of up to `MOST_DUMPS` dumps, in order.

        Dumps with a receipt are on the service's disk. If the service refuses the dumps together,
        they are sent one by one.

        Raises:
            ServiceError: The service cannot be reached, or accepts nothing.
        """
        try:
            return self._send_together(dumps)
        except ServiceError as error:
            if not is_refusal(error):
                raise
            if len(dumps) == 1:
                return [error]
        return [result for one in dumps for result in self.upload([one])]

    def _send_together(self, dumps: Sequence[OutgoingDump]) -> list[Receipt | ServiceError]:
        """The results of dumps; those that the service defers are sent again, until it is late."""
        hashes = [hashlib.sha256(one.dump).hexdigest() for one in dumps]
        records = [list(_record(*both)) for both in zip(dumps, hashes, strict=True)]
        results: dict[int, Receipt | ServiceError] = {}
        left, patience = list(range(len(dumps))), self._connection.patience()
        while left:
            body = [piece for index in left for piece in records[index]]
            headers = {"Content-Type": _BYTES_TYPE}
            answer = self._connection.request("POST", _PATH, headers=headers, body=body)
            found = self._results(answer, [hashes[index] for index in left])
            results |= zip(left, found, strict=True)
            left = [index for index in left if _is_deferred(results[index])]
            if left and not patience.wait(answer.headers.get("Retry-After")):
                break
        return [results[index] for index in range(len(dumps))]

    def _results(
        self, answer: ServiceAnswer, hashes: Sequence[str]
    ) -> Iterator[Receipt | ServiceError]:
        """The results in an answer.

        Raises:
            ServiceError: The answer is not about these dumps.
        """
        listed = _parse(answer.body).get("dumps")
        if not isinstance(listed, list) or len(listed) != len(hashes):
            raise self._unexpected()
        for one, sha256 in zip(listed, hashes, strict=True):
            yield self._result(one, sha256)

    def _result(self, one: Mapping[str, Any], sha256: str) -> Receipt | ServiceError:
        status = int(one["status"])
        if status < HTTPStatus.MULTIPLE_CHOICES:
            if one.get("sha256") != sha256:
                raise self._unexpected()
            return Receipt(sha256, status == HTTPStatus.CREATED)
        url, reason, detail = self._connection.url, str(one["reason"]), str(one["detail"])
        return ServiceError(url + _PATH, detail, reason=reason, status=status)

    def _unexpected(self) -> ServiceError:
        """The error of another server's answer, or of a proxy's page."""
        detail = "unexpected answer; is this the address of a tracehouse service?"
        return ServiceError(self._connection.url, detail, reason="answer")


def is_refusal(error: ServiceError) -> bool:
    """Whether an error is about what was sent, so that other dumps may be accepted."""
    return error.status in _AT_FAULT or error.reason == _POOL


def _is_deferred(result: Receipt | ServiceError) -> bool:
    return isinstance(result, ServiceError) and result.status in TRANSIENT


def _record(outgoing: OutgoingDump, sha256: str) -> Iterator[_Bytes]:
    """A dump as a record: a line with the sizes of its parts, and the parts."""
    parts = outgoing.parts()
    sizes = {name: memoryview(data).nbytes for name, data in parts.items()}
    yield json.dumps({**sizes, "sha256": sha256}).encode() + b"\n"
    yield from parts.values()


def _parse(body: bytes | bytearray) -> dict[str, Any]:
    """The object of an answer; empty for any other content."""
    try:
        content = json.loads(body)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}
