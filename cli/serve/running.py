"""The process of a service, from its start to its end: sockets, signals, and its supervisor."""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

import pyarrow as pa
import uvicorn

from tracehouse.cli.errors import OutputError
from tracehouse.cli.output.streams import write_note
from tracehouse.cli.serve.access.authorization import Access
from tracehouse.cli.serve.app import make_app
from tracehouse.cli.serve.changes import Changes
from tracehouse.cli.serve.http.connections import Connection, most_connections
from tracehouse.cli.serve.http.logs import LogFile
from tracehouse.cli.serve.service import Service
from tracehouse.cli.serve.settings import ServiceSettings

_FIRST_SOCKET = 3  # its file descriptor; the others follow
_PASSED = ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES")

ENDING_SECONDS = 1.5  # time to end after a signal
_ENDING = (signal.SIGTERM, signal.SIGINT)
BACKLOG = 512  # connections that wait to be accepted
LAST_SECONDS = 1  # time for requests to end after a signal
# Numbers and values of options of glibc's `mallopt`.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_MALLOC_OPTIONS = {_ARENA_MAX: 2, _MMAP_THRESHOLD: 1 << 20, _TRIM_THRESHOLD: 8 << 20}


def take_passed_sockets() -> list[socket.socket]:
    """The sockets that the supervisor listens on for this process; empty if there are none.

    Connections wait in them while no service runs. Child processes get neither the sockets nor the
    variables.

    Raises:
        OutputError: A socket does not listen for TCP connections.
    """
    process_id, count, _ = (os.environ.pop(name, "") for name in _PASSED)
    if process_id != str(os.getpid()):
        return []
    return [_take_socket(_FIRST_SOCKET + number) for number in range(int(count))]


def _take_socket(descriptor: int) -> socket.socket:
    try:
        os.set_inheritable(descriptor, False)
        found = socket.socket(fileno=descriptor)
    except OSError as error:
        problem = f"LISTEN_FDS: file {descriptor} is no socket: {error.strerror}"
        raise OutputError(problem) from error
    is_tcp = found.family in {socket.AF_INET, socket.AF_INET6}
    if is_tcp and found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        return found
    found.close()
    problem = f"LISTEN_FDS: file {descriptor} does not listen for TCP connections"
    raise OutputError(f"{problem}; wanted ListenStream=ADDRESS:PORT in the unit of the socket")


def notify(state: str) -> None:
    """Notify the supervisor, if any, of the service's state: READY=1, STOPPING=1, ..."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.setblocking(False)
        channel.sendto(state.encode(), f"\0{address[1:]}" if address[0] == "@" else address)


class Signals:
    """Handles the signals of a service until its process ends.

    The first SIGTERM or SIGINT requests the end, and the second ends the process at once. So does
    the end of `ENDING_SECONDS`: what is accepted is on disk, and whatever is under way is done
    again after the next start.

    Attributes:
        is_end_wanted: Whether the end was requested.
        end: Called when the end is requested.
    """

    def __init__(self) -> None:
        self.is_end_wanted = False
        self.end: Callable[[], None] = lambda: None
        self._log = LogFile()
        for number in _ENDING:
            signal.signal(number, self._on_end)
        # The end of its terminal ends the service, too.
        signal.signal(signal.SIGHUP, self._on_end if sys.stderr.isatty() else self._on_reload)

    def _on_end(self, number: int, _: FrameType | None) -> None:
        if self.is_end_wanted:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        self.is_end_wanted = True
        notify("STOPPING=1")
        deadline = threading.Timer(ENDING_SECONDS, os._exit, [0])
        deadline.daemon = True
        deadline.start()
        self.end()

    def _on_reload(self, *_: object) -> None:
        notify(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")
        self._log.reopen()
        notify("READY=1")


class Server(uvicorn.Server):
    """A server that ends when a signal requests it."""

    def __init__(self, config: uvicorn.Config, signals: Signals, changes: Changes) -> None:
        super().__init__(config)
        self._changes = changes
        signals.end = self._end
        self.should_exit = signals.is_end_wanted

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections, and notify the supervisor."""
        await super().startup(sockets)
        notify("READY=1")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams of changes, which would never end, and wait for other answers."""
        self._changes.end()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield

    def _end(self) -> None:
        self.should_exit = True


def run_service(store: Path, settings: ServiceSettings, *, config: Path | None = None) -> NoReturn:
    """Serve a store until SIGTERM or Ctrl-C, then end the process.

    What is accepted and not indexed then waits in the inbox.

    Raises:
        WarehouseError: The store cannot be opened or closed; or other machines reach the address,
            and there are no tokens.
        OutputError: The service cannot listen on the address.
    """
    signals = Signals()
    os.umask(os.umask(0o077) | 0o077)  # only the owner reads new files
    Connection.most = most_connections()
    reduce_memory()
    with ExitStack() as opened:
        listening = [opened.enter_context(one) for one in listen(store, settings)]
        service = Service(store, settings, config=config)
        host, port = listening[0].getsockname()[:2]
        service.announce(f"http://{_own_address(host)}:{port}")
        write_note(f"serving {store} at {' and '.join(map(_url_of, listening))}")
        # A search for garbage among the imports would delay uploads.
        app = make_app(service, when_loaded=gc.freeze)
        server_config = uvicorn.Config(
            app,
            http=Connection,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            backlog=BACKLOG,
            timeout_graceful_shutdown=LAST_SECONDS,
        )
        gc.freeze()
        Server(server_config, signals, app.state.changes).run(sockets=listening)
        gc.unfreeze()
    service.close()
    if service.problem:
        raise service.problem
    sys.stderr.flush()
    os._exit(0)  # freeing all memory first would take half a second


def _own_address(host: str) -> str:
    """The address in a URL by which this machine reaches a service that listens on another.

    >>> [_own_address(host) for host in ("0.0.0.0", "::", "::1", "10.0.0.7")]
    ['127.0.0.1', '[::1]', '[::1]', '10.0.0.7']
    """
    own = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - not bound here
    return f"[{own}]" if ":" in own else own


def listen(store: Path, settings: ServiceSettings) -> list[socket.socket]:
    """The sockets of the supervisor, or one that listens on the address of the settings.

    Their connections send each part of an answer at once.

    Raises:
        StoreError: Other machines reach an address, and the store has no tokens.
        OutputError: The service cannot listen on the address.
    """
    access, listening = Access(store), take_passed_sockets()
    for host in [one.getsockname()[0] for one in listening] or [settings.host]:
        access.check_start(host)
    listening = listening or [_open_socket(settings)]
    for one in listening:
        # asyncio does so for its own sockets. Otherwise the end of an answer waits for the client
        # to acknowledge its beginning, which takes 40 ms.
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def _open_socket(settings: ServiceSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    address = settings.host, settings.port
    try:
        return socket.create_server(address, family=family, backlog=BACKLOG)
    except OSError as error:
        where = f"{settings.host}:{settings.port}"
        problem = f"cannot listen: {error.strerror}; choose another address with --host and --port"
        raise OutputError(f"{where}: {problem}") from error


def _url_of(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def reduce_memory() -> None:
    """Make this process return freed memory to the system soon.

    Otherwise each thread, and Arrow's allocator, would keep the memory that it freed.
    """
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        set_option = ctypes.CDLL(None).mallopt
    except AttributeError:  # another C library
        return
    for option, value in _MALLOC_OPTIONS.items():
        set_option(option, value)
