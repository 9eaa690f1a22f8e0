"""A connection to a service: it is kept, and what is lost or put off is asked once more."""

from __future__ import annotations

import http.client
import json
import os
import random
import socket
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import urlsplit

from ingest.errors import ServiceError

TOKEN_VARIABLE = "TRACEHOUSE_TOKEN"  # noqa: S105 - the variable's name

_Bytes = bytes | memoryview
_TRANSIENT = {
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
}
_LOST = (OSError, http.client.HTTPException)
_TIMEOUT_SECONDS = 120.0  # without a byte: longer than a service answers (query_seconds)
_FIRST_PAUSE_SECONDS = 0.25
_LONGEST_PAUSE_SECONDS = 30.0
_PIECE_BYTES = 1 << 20  # each piece has the timeout to itself
_EXPECT_BYTES = 1 << 20  # beyond which a body is sent when the service has asked for it
_EXPECT_SECONDS = 1.0  # for which that is waited for: not every server does
_CONTINUE = b"HTTP/1.1 100 "
_REMEDIES: dict[int, str] = {
    HTTPStatus.UNAUTHORIZED: f"; give a token in ${TOKEN_VARIABLE} or a file (--token-file)",
    HTTPStatus.FORBIDDEN: "; take a token that may do this",
    HTTPStatus.NOT_FOUND: "; is this the address of a tracehouse service?",
    HTTPStatus.INSUFFICIENT_STORAGE: "; make room on the service's disk",
}


class _EarlyAnswerError(Exception):
    """The service has answered before it was sent a body."""


class ServiceAnswer(NamedTuple):
    """What a service answered: its status, which is one of success, its headers, its body."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes


class ServiceConnection:
    """Asks one service, for one thread; what it asks may be asked twice."""

    def __init__(self, url: str, *, token: str | None = None, retry_seconds: float = 0.0) -> None:
        """Connect with the first question.

        Args:
            url: The service's address; what stands behind its host comes before every path.
            token: Who asks; by default what $TRACEHOUSE_TOKEN holds.
            retry_seconds: Time for which a service is asked again that is not there or puts it
                off.

        Raises:
            ServiceError: That is no address, or no token.
        """
        self.url, self._retry_seconds = url.rstrip("/"), retry_seconds
        self._http, self._prefix = _connection(self.url)
        token = os.environ.get(TOKEN_VARIABLE, "") if token is None else token
        self._headers = {"Authorization": f"Bearer {_checked(url, token)}"} if token else {}

    def ask(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: Sequence[_Bytes] = (),
    ) -> ServiceAnswer:
        """What the service answers.

        Args:
            method: HTTP's method.
            path: Path and query, quoted.
            headers: Headers besides the connection's own.
            body: What is sent, in pieces.

        Raises:
            ServiceError: It cannot be reached, or refuses; or puts it off for too long.
        """
        sent = {**self._headers, **(headers or {}), **self._framing(body)}
        end, longest = time.monotonic() + self._retry_seconds, _FIRST_PAUSE_SECONDS
        while True:
            try:
                answer = self._exchange(method, path, sent, body)
            except _LOST as error:
                self.close()
                problem, wanted = self._lost(path, error), None
                if isinstance(error, ssl.SSLCertVerificationError):
                    raise problem from error
            else:
                if answer.status < HTTPStatus.MULTIPLE_CHOICES:
                    return answer
                problem, wanted = self._refused(path, answer), answer.headers.get("Retry-After")
                if answer.status not in _TRANSIENT:
                    raise problem
            pause = _pause(wanted, longest)
            if time.monotonic() + pause > end:
                raise problem
            time.sleep(pause)
            longest = min(2 * longest, _LONGEST_PAUSE_SECONDS)

    def close(self) -> None:
        """Let go of the service; the next question connects anew."""
        self._http.close()

    def __enter__(self) -> ServiceConnection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _exchange(
        self, method: str, path: str, headers: Mapping[str, str], body: Sequence[_Bytes]
    ) -> ServiceAnswer:
        """Ask once; twice if the connection was an old one, which the service may have closed."""
        if self._http.sock is not None:
            with suppress(ConnectionError):
                return self._exchange_once(method, path, headers, body)
            self.close()
        return self._exchange_once(method, path, headers, body)

    def _framing(self, body: Sequence[_Bytes]) -> dict[str, str]:
        """Headers about a body; behind TLS stands a proxy, which asks for everything."""
        byte_count = sum(map(_size, body))
        is_plain = not isinstance(self._http, http.client.HTTPSConnection)
        asks = {"Expect": "100-continue"} if byte_count > _EXPECT_BYTES and is_plain else {}
        return {"Content-Length": str(byte_count), **asks}

    def _exchange_once(
        self, method: str, path: str, headers: Mapping[str, str], body: Sequence[_Bytes]
    ) -> ServiceAnswer:
        is_sent = True
        try:
            pieces = self._pieces(body, is_asked="Expect" in headers)
            self._http.request(method, self._prefix + path, pieces, headers)
        except (_EarlyAnswerError, BrokenPipeError, ConnectionResetError):
            if self._http.sock is None:
                raise
            is_sent = False  # it has refused what it has not read to the end
        response = self._http.getresponse()
        answer = ServiceAnswer(response.status, response.headers, response.read())
        if not is_sent:
            self.close()
        return answer

    def _pieces(self, body: Sequence[_Bytes], *, is_asked: bool) -> Iterator[memoryview]:
        """A body in pieces, which are wanted when the head was sent.

        Raises:
            _EarlyAnswerError: The service does not want it.
        """
        if is_asked and self._is_answered():
            raise _EarlyAnswerError
        yield from _pieces(body)

    def _is_answered(self) -> bool:
        """Whether something else comes than that a body is to be sent."""
        self._http.sock.settimeout(_EXPECT_SECONDS)
        try:
            begin = self._http.sock.recv(len(_CONTINUE), socket.MSG_PEEK)
        except TimeoutError:
            return False
        finally:
            self._http.sock.settimeout(_TIMEOUT_SECONDS)
        return bool(begin) and not _CONTINUE.startswith(begin)

    def _lost(self, path: str, error: OSError | http.client.HTTPException) -> ServiceError:
        if isinstance(error, ssl.SSLCertVerificationError):
            remedy = "let $SSL_CERT_FILE name a file that vouches for it"
            detail = f"its certificate is not trusted: {error.verify_message}; {remedy}"
            return ServiceError(self.url + path, detail, reason="certificate")
        if isinstance(error, TimeoutError):
            detail = (
                f"does not answer in {_TIMEOUT_SECONDS:g} s: ask of less, or try it again later"
            )
            return ServiceError(self.url + path, detail, reason="unreachable")
        what = getattr(error, "strerror", None) or str(error) or type(error).__name__
        detail = f"cannot be reached: {what}; is the service running there?"
        return ServiceError(self.url + path, detail, reason="unreachable")

    def _refused(self, path: str, answer: ServiceAnswer) -> ServiceError:
        try:
            told = json.loads(answer.body)
            reason, detail = str(told["reason"]), str(told["detail"])
        except (ValueError, KeyError, TypeError):  # a proxy's page, or another server's
            reason = http.client.responses.get(answer.status, "refused")
            detail = reason + _REMEDIES.get(answer.status, "")
            if place := answer.headers.get("Location"):
                detail += f"; give the address that it sends on to: {place}"
        else:
            if answer.status == HTTPStatus.UNAUTHORIZED:
                detail += _REMEDIES[HTTPStatus.UNAUTHORIZED]
        return ServiceError(self.url + path, detail, reason=reason, status=answer.status)


def _connection(url: str) -> tuple[http.client.HTTPConnection, str]:
    """A connection to a URL, not yet made, and the beginning of every path there.

    Raises:
        ServiceError: It is not the URL of a service.
    """
    try:
        place = urlsplit(url)
        host, port = place.hostname, place.port
    except ValueError:
        place, host, port = urlsplit(""), None, None
    is_plain = url.isascii() and url.isprintable() and not {" ", "@", "?"} & set(url)
    if not (host and is_plain) or place.scheme not in {"http", "https"}:
        detail = "not the address of a service, wanted http://HOST:PORT or https://HOST"
        raise ServiceError(url, detail, reason="address")
    if place.scheme == "https":
        context = ssl.create_default_context()
        return http.client.HTTPSConnection(
            host, port, timeout=_TIMEOUT_SECONDS, context=context
        ), place.path
    return http.client.HTTPConnection(host, port, timeout=_TIMEOUT_SECONDS), place.path


def _checked(url: str, token: str) -> str:
    """A token as a header can hold it.

    Raises:
        ServiceError: It cannot.
    """
    token = token.strip()
    if not (token.isascii() and token.isprintable()):
        detail = f"${TOKEN_VARIABLE} holds no token, which is one line of ASCII"
        raise ServiceError(url, detail, reason="token")
    return token


def _pause(wanted: str | None, longest: float) -> float:
    """Seconds to wait: what the service wants and a little, so that not all come back at once."""
    if wanted is not None and wanted.isdecimal():
        return float(wanted) * random.uniform(1.0, 1.25)  # noqa: S311 - no secret
    return random.uniform(longest / 2, longest)  # noqa: S311


def _size(piece: _Bytes) -> int:
    return memoryview(piece).nbytes


def _pieces(body: Sequence[_Bytes]) -> Iterator[memoryview]:
    for whole in (memoryview(piece) for piece in body):
        for start in range(0, whole.nbytes, _PIECE_BYTES):
            yield whole[start : start + _PIECE_BYTES]
