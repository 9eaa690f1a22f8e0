from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from types import TracebackType

import pytest
import uvicorn

from tests.support.cross_section import cross_section
from tests.support.store_template import copy_new_store
from tests.support.waiting import until
from tests.tools.service.dumps import DumpMaker
from tracehouse.cli.serve import metrics
from tracehouse.cli.serve.app import make_app
from tracehouse.cli.serve.http import connections, endpoints
from tracehouse.cli.serve.http.connections import Connection
from tracehouse.cli.serve.service import Service
from tracehouse.cli.serve.settings import ServiceSettings
from tracehouse.warehouse.opening.snapshots import find_snapshots

MAKER = DumpMaker(1)
HELLO = b"GET /v1/dumps/x HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Listening:
    """A service of this process on a socket."""

    def __init__(self, store: Path, **settings: int) -> None:
        """Begin to listen."""
        copy_new_store(store)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        self.port = self._listening.getsockname()[1]
        self.service = Service(store, ServiceSettings(**{"free_bytes": 0, **settings}))
        app = make_app(self.service)
        self.sql_limit = app.state.sql_limit
        config = uvicorn.Config(app, http=Connection, lifespan="on", log_config=None)
        self._server = uvicorn.Server(config)
        self._thread = Thread(target=self._server.run, args=([self._listening],))

    def await_idle(self) -> None:
        """Wait until no connection is open and no upload under way."""
        connections = self._server.server_state.connections
        until(lambda: not connections and not self.service.admission.uploads)

    def connect(self, sent: bytes = b"") -> socket.socket:
        """A connection on which this was sent."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        connection.sendall(sent)
        return connection

    def __enter__(self) -> Listening:
        self._thread.start()
        with self.connect(HELLO) as connection:
            assert connection.recv(100)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._listening.close()


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listening]:
    store = tmp_path_factory.mktemp("served") / "store"
    with Listening(store, concurrent_uploads=2, max_body_bytes=1 << 16) as listening:
        yield listening


@pytest.fixture
def listening(started: Listening) -> Listening:
    """The service of all tests, to which nobody is connected."""
    started.await_idle()
    return started


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.2)
    monkeypatch.setattr(endpoints, "IDLE_SECONDS", 0.2)


def answer_on(connection: socket.socket) -> bytes:
    """The whole of an answer, head and JSON."""
    answer = connection.recv(1000)
    while b"}" not in answer:
        more = connection.recv(1000)
        assert more
        answer += more
    return answer


def is_closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(100) == b""
    except ConnectionResetError:
        return True


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("sent", cross_section([b"GET / HT", b"", b"GET / HTTP/1.1\r\nX: "], 3))
def test_a_connection_that_does_not_say_what_it_wants_is_closed(
    listening: Listening, sent: bytes
) -> None:
    with listening.connect(sent) as connection:
        assert is_closed(connection)


@pytest.mark.usefixtures("impatient")
def test_the_next_request_too_has_to_come_in_time(listening: Listening) -> None:
    with listening.connect(HELLO) as connection:
        assert answer_on(connection).startswith(b"HTTP/1.1 400")
        connection.sendall(b"GET")
        assert is_closed(connection)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("path", ["/login", "/notes", "/v1/sql", "/v1/upkeep/compact", "/mcp"])
def test_a_short_body_has_to_come_in_time_too(listening: Listening, path: str) -> None:
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Length: 9"]
    head = "\r\n".join([*lines, "Content-Type: application/json", "", "SEL"])
    with listening.connect(head.encode()) as connection:
        answer = b""
        while more := connection.recv(1 << 16):
            answer += more
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"connection: close\r\n" in answer.lower()


def test_a_head_that_is_too_long_is_not_held(listening: Listening) -> None:
    with (
        listening.connect(b"GET / HTTP/1.1\r\n") as connection,
        pytest.raises(OSError, match=r"reset|Broken"),
    ):
        connection.sendall(b"X: y\r\n" * (8 << 20))


@pytest.mark.parametrize(
    ("sent", "status", "reason"),
    [
        (b"GET / HTTP/1.1\r\nX: " + b"y" * (65 << 10), b"431", b"head_too_long"),
        (b"GET /" + b"y" * (65 << 10), b"431", b"head_too_long"),
        (b"GET / HTTP/9\r\n\r\n", b"400", b"malformed"),
    ],
    ids=["header", "address", "malformed"],
)
def test_an_unreadable_request_head_is_answered_with_the_reason(
    listening: Listening, sent: bytes, status: bytes, reason: bytes
) -> None:
    with listening.connect(sent) as connection:
        answer = answer_on(connection)
        assert answer.startswith(b"HTTP/1.1 " + status)
        assert b"application/problem+json" in answer
        assert reason in answer
        assert is_closed(connection)


def test_bodies_between_heads_are_no_part_of_them(listening: Listening) -> None:
    maker = DumpMaker(100, runs=3)
    requests = [maker.packet(number).request for number in range(8)]
    assert sum(map(len, requests)) > 3 * connections.HEAD_BYTES
    with listening.connect(b"".join(requests)) as connection:
        answers = b""
        while answers.count(b'"accepted"') < len(requests):
            more = connection.recv(1000)
            assert more, answers
            answers += more


def ask_at_leisure(listening: Listening) -> socket.socket:
    """A connection on which a long answer waits that nobody has read yet."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(20)
    connection.connect(("127.0.0.1", listening.port))
    connection.sendall(b"GET /v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return connection


def read_after(connection: socket.socket, seconds: float) -> tuple[int, int]:
    """Bytes of an answer that came, and those it has, when it is read after so long."""
    time.sleep(seconds)
    answer = b""
    while more := connection.recv(1 << 16):
        answer += more
    head, _, body = answer.partition(b"\r\n\r\n")
    return len(body), int(head.partition(b"content-length: ")[2].split()[0])


@pytest.mark.usefixtures("impatient")
def test_an_answer_that_is_read_slowly_is_sent_to_its_end(listening: Listening) -> None:
    with ask_at_leisure(listening) as connection:
        found, wanted = read_after(connection, 0.7)  # longer than the next request may take
    assert found == wanted


@pytest.mark.usefixtures("impatient")
@pytest.mark.slow
def test_an_answer_that_nobody_reads_is_given_up(
    listening: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "READ_SECONDS", 0.2)
    with ask_at_leisure(listening) as connection:
        found, wanted = read_after(connection, 1.5)
    assert found < wanted


@pytest.mark.usefixtures("impatient")
def test_a_request_that_was_sent_before_the_last_answer_may_take_long(
    listening: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find_none_slowly(*_: object) -> Iterator[tuple[str, str]]:
        time.sleep(0.5)  # longer than the next request may take
        return iter(())

    monkeypatch.setattr(metrics, "find_obstacles", find_none_slowly)
    request = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with listening.connect(request * 2) as connection:
        assert answer_on(connection).startswith(b"HTTP/1.1 200")
        assert answer_on(connection).startswith(b"HTTP/1.1 200")


@pytest.mark.usefixtures("impatient")
def test_a_body_that_stops_arriving_is_answered_with_408(listening: Listening) -> None:
    with listening.connect(MAKER.packet(1).request[:-10]) as connection:
        answer = answer_on(connection)
        assert answer.startswith(b"HTTP/1.1 408")
        assert b'"slow"' in answer
        assert is_closed(connection)


def test_a_body_that_arrives_too_slowly_is_abandoned(
    listening: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoints, "GRACE_SECONDS", 0.1)
    request = MAKER.packet(1).request
    with listening.connect(request[:-100]) as connection:
        connection.settimeout(0.02)
        answer = b""
        for at in range(len(request) - 100, len(request) - 1):
            connection.sendall(request[at : at + 1])
            try:
                answer = connection.recv(1000)
                break
            except TimeoutError:
                continue
    assert answer.startswith(b"HTTP/1.1 408")


class CountedBytes(bytes):
    """A body that waits, and counts how often something is added to it."""

    added = 0

    def __add__(self, more: bytes) -> CountedBytes:
        CountedBytes.added += 1
        return CountedBytes(bytes(self) + more)


def test_a_body_in_chunks_of_a_byte_is_passed_on_whole_and_joined_once(
    listening: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed: list[bytes] = []
    pass_body = Connection._pass_body

    def watch(connection: Connection) -> None:
        if connection._pieces:
            connection.cycle.body = CountedBytes(connection.cycle.body)
            passed.extend(connection._pieces)
        pass_body(connection)

    monkeypatch.setattr(Connection, "_pass_body", watch)
    head, _, body = MAKER.packet(7).request.partition(b"\r\n\r\n")
    head = re.sub(rb"Content-Length: \d+", b"Transfer-Encoding: chunked", head)
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body)
    with listening.connect(head + b"\r\n\r\n" + chunks + b"0\r\n\r\n") as connection:
        assert answer_on(connection).startswith(b"HTTP/1.1 201")
    assert b"".join(passed) == body
    assert CountedBytes.added < len(passed) / 100


def test_a_body_that_ends_before_its_end_leaves_nothing(listening: Listening) -> None:
    accepted = listening.service.consumer.accepted
    with listening.connect(MAKER.packet(1).request[:-10]) as connection:
        connection.shutdown(socket.SHUT_WR)
        assert is_closed(connection)
    listening.await_idle()
    assert listening.service.consumer.accepted == accepted


def test_an_upload_that_is_too_large_is_refused_before_it_is_sent(listening: Listening) -> None:
    head = MAKER.packet(1).request.partition(b"Content-Length")[0]
    with listening.connect(head + b"Content-Length: 9999999\r\n\r\n") as connection:
        answer = answer_on(connection)
        assert answer.startswith(b"HTTP/1.1 413")
        assert is_closed(connection)


def test_uploads_beyond_those_under_way_are_put_off_before_they_are_sent(
    listening: Listening,
) -> None:
    admission = listening.service.admission
    begun = [listening.connect(MAKER.packet(i).request[:-10]) for i in range(2)]
    until(lambda: admission.uploads == 2)
    request = MAKER.packet(9).request

    with listening.connect(request) as connection:
        answer = answer_on(connection)
        assert answer.startswith(b"HTTP/1.1 429")
        assert b"retry-after: 1\r\n" in answer.lower()
        for other in begun:
            other.close()
        until(lambda: not admission.uploads)
        connection.sendall(request)  # the same connection goes on

        assert answer_on(connection).startswith(b"HTTP/1.1 201")


def test_connections_beyond_the_limit_are_closed_at_once(
    listening: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Connection, "most", 3)
    opened = [listening.connect() for _ in range(3)]
    with listening.connect() as connection:
        assert is_closed(connection)
    opened[0].sendall(HELLO)
    assert answer_on(opened[0]).startswith(b"HTTP/1.1 400")
    for other in opened:
        other.close()


@pytest.mark.parametrize(
    "sent",
    cross_section(
        [
            b"\xff\xfe\x00garbage\r\n\r\n",
            b"GET /v1/dumps/%ff%fe HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
            b"POST /v1/dumps HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
            b"POST /v1/dumps HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        ],
        3,
    ),
)
def test_a_malformed_request_is_answered_with_400(listening: Listening, sent: bytes) -> None:
    with listening.connect(sent) as connection:
        assert connection.recv(1000).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize(
    "request_",
    [
        b"GET /sql?sql=%s HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /v1/sql HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
        b"Content-Length: 41\r\n\r\n%s",
    ],
    ids=["page", "API"],
)
def test_a_statement_ends_with_its_client(tmp_path: Path, request_: bytes) -> None:
    endless = b"SELECT count(*) FROM range(1000000000000)"
    text = endless.replace(b" ", b"+") if b"GET" in request_ else endless
    with Listening(tmp_path / "store", sql_workers=1, sql_seconds=60) as listening:
        until(lambda: bool(find_snapshots(listening.service.store)))
        busy = listening.connect(request_ % text)
        until(lambda: listening.sql_limit.count == 1)
        start = time.monotonic()
        busy.close()
        until(lambda: listening.sql_limit.count == 0)
        assert time.monotonic() - start < 30
