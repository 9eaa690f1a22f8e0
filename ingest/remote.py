"""A client of a service, with the standard library alone: requests, retries, errors, uploads."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import random
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http import HTTPStatus
from queue import Empty, SimpleQueue
from typing import Any, Generic, NamedTuple, Protocol, TypeVar
from urllib.parse import urlsplit

from tracehouse.ingest.batching import batches
from tracehouse.ingest.errors import ServiceError

MOST_DUMPS = 256  # that a service takes in one request; a line of its audit log names them
RETRY_SECONDS = 60.0  # by default, for programs
TOKEN_VARIABLE = "TRACEHOUSE_TOKEN"  # noqa: S105 - the variable's name

_Bytes = bytes | memoryview
_TRANSIENT = {
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.INSUFFICIENT_STORAGE,
}
_LOST = (OSError, http.client.HTTPException)
_TIMEOUT_SECONDS = 120.0  # between two bytes; longer than a service's `query_seconds`
_FIRST_PAUSE_SECONDS = 0.25
_LONGEST_PAUSE_SECONDS = 30.0
_PIECE_BYTES = 1 << 20  # the timeout applies to each piece
_EXPECT_BYTES = 1 << 20  # larger bodies are sent with "Expect: 100-continue"
_EXPECT_SECONDS = 1.0  # time to wait for "100 Continue", which not every server sends
_CONTINUE = b"HTTP/1.1 100 "
_UPLOADS = "/v1/dumps:batch"
_UPLOAD_BYTES = 8 << 20  # a request has no more, unless one dump alone has
_ABOUT_ONE_DUMP = {
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.CONFLICT,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.INTERNAL_SERVER_ERROR,  # other dumps may succeed
}
_OTHER_POOL = "pool"  # reason: the token is for other pools of devices
_REMEDIES: dict[int, str] = {
    HTTPStatus.UNAUTHORIZED: f"; give a token in ${TOKEN_VARIABLE} or a file (--token-file)",
    HTTPStatus.FORBIDDEN: "; use a token with the necessary permission",
    HTTPStatus.NOT_FOUND: "; is this the address of a tracehouse service?",
    HTTPStatus.INSUFFICIENT_STORAGE: "; free space on the service's disk",
}


class _EarlyAnswerError(Exception):
    """The service answered before the body was sent."""


class ServiceAnswer(NamedTuple):
    """A service's answer: a status of success, headers and body."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes | bytearray


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


class _Patience:
    """Pauses between attempts, which become longer, until so many seconds have passed."""

    def __init__(self, seconds: float) -> None:
        self._end, self._longest = time.monotonic() + seconds, _FIRST_PAUSE_SECONDS

    def wait(self, retry_after: str | None) -> bool:
        """Wait before the next attempt; False if it would be too late."""
        pause = _pause(retry_after, self._longest)
        if time.monotonic() + pause > self._end:
            return False
        time.sleep(pause)
        self._longest = min(2 * self._longest, _LONGEST_PAUSE_SECONDS)
        return True


class ServiceConnection:
    """A connection to one service for one thread; requests may be sent twice."""

    def __init__(self, url: str, *, token: str | None = None, retry_seconds: float = 0.0) -> None:
        """Prepare the connection; the first request opens it.

        Args:
            url: The service's URL; its path is put before every request's path.
            token: Access token; by default the value of $TRACEHOUSE_TOKEN.
            retry_seconds: How long to retry while the service is unreachable or busy.

        Raises:
            ServiceError: The URL or the token is malformed.
        """
        self.url, self._retry_seconds = url.rstrip("/"), retry_seconds
        self._http, self._prefix = _connection(self.url)
        token = os.environ.get(TOKEN_VARIABLE, "") if token is None else token
        self._headers = {"Authorization": f"Bearer {_header_token(url, token)}"} if token else {}

    def request(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: Sequence[_Bytes] = (),
    ) -> ServiceAnswer:
        """The service's answer to a request.

        Raises:
            ServiceError: The service cannot be reached, refuses, or stays busy for too long.
        """
        sent = {**self._headers, **(headers or {}), **self._framing_headers(body)}
        patience = _Patience(self._retry_seconds)
        while True:
            try:
                answer = self._exchange(method, path, sent, body)
            except _LOST as error:
                self.close()
                problem, wanted = self._describe_loss(path, error), None
                if isinstance(error, ssl.SSLCertVerificationError):
                    raise problem from error
            else:
                if answer.status < HTTPStatus.MULTIPLE_CHOICES:
                    return answer
                problem, wanted = self._refusal(path, answer), answer.headers.get("Retry-After")
                if answer.status not in _TRANSIENT:
                    raise problem
            if not patience.wait(wanted):
                raise problem

    def upload(self, dumps: Iterable[OutgoingDump]) -> list[Receipt | ServiceError]:
        """The result of each dump, in order; a dump with a receipt is on the service's disk.

        Raises:
            ServiceError: The service cannot be reached, or accepts nothing.
        """
        groups = batches(dumps, OutgoingDump.size, _UPLOAD_BYTES, MOST_DUMPS)
        return [result for group in groups for result in self._upload_group(group)]

    def unexpected_answer(self, path: str = "") -> ServiceError:
        """The error of another server's answer, or of a proxy's page."""
        detail = "unexpected answer; is this the address of a tracehouse service?"
        return ServiceError(self.url + path, detail, reason="answer")

    def interrupt(self) -> None:
        """Make the request that another thread has under way fail."""
        if (sock := self._http.sock) is not None:
            with suppress(OSError):  # it was closed meanwhile
                sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection; the next request opens it again."""
        self._http.close()

    def __enter__(self) -> ServiceConnection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _upload_group(self, dumps: Sequence[OutgoingDump]) -> list[Receipt | ServiceError]:
        """The results of dumps; if the service refuses them together, they are sent one by one.

        Raises:
            ServiceError: The service cannot be reached, or accepts nothing.
        """
        try:
            return self._send_group(dumps)
        except ServiceError as error:
            if not is_refusal(error):
                raise
            if len(dumps) == 1:
                return [error]
        return [result for one in dumps for result in self._upload_group([one])]

    def _send_group(self, dumps: Sequence[OutgoingDump]) -> list[Receipt | ServiceError]:
        """The results of dumps; those that the service defers are sent again, until it is late."""
        hashes = [hashlib.sha256(one.dump).hexdigest() for one in dumps]
        records = [list(_record(*both)) for both in zip(dumps, hashes, strict=True)]
        results: dict[int, Receipt | ServiceError] = {}
        left, patience = list(range(len(dumps))), _Patience(self._retry_seconds)
        while left:
            body = [piece for index in left for piece in records[index]]
            headers = {"Content-Type": "application/octet-stream"}
            answer = self.request("POST", _UPLOADS, headers=headers, body=body)
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
            raise self.unexpected_answer()
        for one, sha256 in zip(listed, hashes, strict=True):
            yield self._result(one, sha256)

    def _result(self, one: Mapping[str, Any], sha256: str) -> Receipt | ServiceError:
        status = int(one["status"])
        if status < HTTPStatus.MULTIPLE_CHOICES:
            if one.get("sha256") != sha256:
                raise self.unexpected_answer()
            return Receipt(sha256, status == HTTPStatus.CREATED)
        reason, detail = str(one["reason"]), str(one["detail"])
        return ServiceError(self.url + _UPLOADS, detail, reason=reason, status=status)

    def _exchange(
        self, method: str, path: str, headers: Mapping[str, str], body: Sequence[_Bytes]
    ) -> ServiceAnswer:
        """Send a request; resend it if the service has closed the persistent connection."""
        if self._http.sock is not None:
            with suppress(ConnectionError):
                return self._exchange_once(method, path, headers, body)
            self.close()
        return self._exchange_once(method, path, headers, body)

    def _framing_headers(self, body: Sequence[_Bytes]) -> dict[str, str]:
        """Headers about a body; with TLS, a proxy would answer "100 Continue" itself."""
        byte_count = sum(memoryview(piece).nbytes for piece in body)
        is_plain = not isinstance(self._http, http.client.HTTPSConnection)
        expect = {"Expect": "100-continue"} if byte_count > _EXPECT_BYTES and is_plain else {}
        return {"Content-Length": str(byte_count), **expect}

    def _exchange_once(
        self, method: str, path: str, headers: Mapping[str, str], body: Sequence[_Bytes]
    ) -> ServiceAnswer:
        is_sent = True
        try:
            pieces = self._pieces(body, is_expected="Expect" in headers)
            self._http.request(method, self._prefix + path, pieces, headers)
        except (_EarlyAnswerError, BrokenPipeError, ConnectionResetError):
            if self._http.sock is None:
                raise
            is_sent = False  # the service refused before it had read the whole body
        response = self._http.getresponse()
        answer = ServiceAnswer(response.status, response.headers, response.read())
        if not is_sent:
            self.close()
        return answer

    def _pieces(self, body: Sequence[_Bytes], *, is_expected: bool) -> Iterator[memoryview]:
        """A body in pieces, sent after the headers.

        Raises:
            _EarlyAnswerError: The service answered before it received the body.
        """
        if is_expected and self._is_answered():
            raise _EarlyAnswerError
        yield from _pieces(body)

    def _is_answered(self) -> bool:
        """Whether the service sends anything other than "100 Continue"."""
        self._http.sock.settimeout(_EXPECT_SECONDS)
        try:
            begin = self._http.sock.recv(len(_CONTINUE), socket.MSG_PEEK)
        except TimeoutError:
            return False
        finally:
            self._http.sock.settimeout(_TIMEOUT_SECONDS)
        return bool(begin) and not _CONTINUE.startswith(begin)

    def _describe_loss(self, path: str, error: OSError | http.client.HTTPException) -> ServiceError:
        if isinstance(error, ssl.SSLCertVerificationError):
            remedy = "set $SSL_CERT_FILE to a file of the certificate's authority"
            detail = f"its certificate is not trusted: {error.verify_message}; {remedy}"
            return ServiceError(self.url + path, detail, reason="certificate")
        if isinstance(error, TimeoutError):
            detail = (
                f"did not answer within {_TIMEOUT_SECONDS:g} s; ask for less data, or try "
                f"again later"
            )
            return ServiceError(self.url + path, detail, reason="unreachable")
        what = getattr(error, "strerror", None) or str(error) or type(error).__name__
        detail = f"cannot be reached: {what}; is the service running there?"
        return ServiceError(self.url + path, detail, reason="unreachable")

    def _refusal(self, path: str, answer: ServiceAnswer) -> ServiceError:
        try:
            problem = json.loads(answer.body)
            reason, detail = str(problem["reason"]), str(problem["detail"])
        except (ValueError, KeyError, TypeError):  # a page of a proxy or of another server
            reason = http.client.responses.get(answer.status, "refused")
            detail = reason + _REMEDIES.get(answer.status, "")
            if place := answer.headers.get("Location"):
                detail += f"; use the address of its redirect: {place}"
        else:
            if answer.status == HTTPStatus.UNAUTHORIZED:
                detail += _REMEDIES[HTTPStatus.UNAUTHORIZED]
        return ServiceError(self.url + path, detail, reason=reason, status=answer.status)


class _Closable(Protocol):
    def close(self) -> None: ...


_Item = TypeVar("_Item", bound=_Closable)


class Pool(Generic[_Item]):
    """Connections of several threads, or clients; a thread has one of its own while it uses it."""

    def __init__(self, connect: Callable[[], _Item]) -> None:
        """Prepare the first one at once; errors of `connect` are passed on."""
        self._connect = connect
        self._idle: SimpleQueue[_Item] = SimpleQueue()
        self._idle.put(connect())

    @contextmanager
    def lend(self) -> Iterator[_Item]:
        """One that nobody uses; a new one if there is none."""
        try:
            item = self._idle.get_nowait()
        except Empty:
            item = self._connect()
        try:
            yield item
        finally:
            self._idle.put(item)

    def close(self) -> None:
        """Close all of them, once nobody uses any."""
        while not self._idle.empty():
            self._idle.get().close()


def is_refusal(error: ServiceError) -> bool:
    """Whether an error is about what was sent, so that other dumps may be accepted."""
    return error.status in _ABOUT_ONE_DUMP or error.reason == _OTHER_POOL


def _is_deferred(result: Receipt | ServiceError) -> bool:
    return isinstance(result, ServiceError) and result.status in _TRANSIENT


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


def _connection(url: str) -> tuple[http.client.HTTPConnection, str]:
    """An unopened connection to a URL, and the prefix of every path.

    Raises:
        ServiceError: The URL cannot be that of a service.
    """
    try:
        place = urlsplit(url)
        host, port = place.hostname, place.port
    except ValueError:
        place, host, port = urlsplit(""), None, None
    is_plain = url.isascii() and url.isprintable() and not {" ", "@", "?"} & set(url)
    if not (host and is_plain) or place.scheme not in {"http", "https"}:
        detail = "not the address of a service; wanted http://HOST:PORT or https://HOST"
        raise ServiceError(url, detail, reason="address")
    if place.scheme == "https":
        context = ssl.create_default_context()
        return http.client.HTTPSConnection(
            host, port, timeout=_TIMEOUT_SECONDS, context=context
        ), place.path
    return http.client.HTTPConnection(host, port, timeout=_TIMEOUT_SECONDS), place.path


def _header_token(url: str, token: str) -> str:
    """The token for a header.

    Raises:
        ServiceError: A header cannot hold the token.
    """
    token = token.strip()
    if not (token.isascii() and token.isprintable()):
        detail = f"${TOKEN_VARIABLE} is not a token: wanted one line of ASCII"
        raise ServiceError(url, detail, reason="token")
    return token


def _pause(retry_after: str | None, longest: float) -> float:
    """Seconds to wait: the service's Retry-After, plus a random part to spread clients out."""
    if retry_after is not None and retry_after.isdecimal():
        return float(retry_after) * random.uniform(1.0, 1.25)  # noqa: S311 - no secret
    return random.uniform(longest / 2, longest)  # noqa: S311


def _pieces(body: Sequence[_Bytes]) -> Iterator[memoryview]:
    """A body in pieces: small parts are joined, and large ones are split without a copy."""
    joined = bytearray()
    for whole in (memoryview(part) for part in body):
        for start in range(0, whole.nbytes, _PIECE_BYTES):
            piece = whole[start : start + _PIECE_BYTES]
            if joined and len(joined) + len(piece) > _PIECE_BYTES:
                yield memoryview(joined)
                joined = bytearray()
            if len(piece) == _PIECE_BYTES:
                yield piece
            else:
                joined += piece
    if joined:
        yield memoryview(joined)
