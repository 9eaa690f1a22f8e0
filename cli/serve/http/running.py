"""The process of a service, from its start to its end."""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pyarrow as pa
import uvicorn

from cli.errors import OutputError
from cli.output.streams import write_note
from cli.serve.access.authorization import Access
from cli.serve.http.app import make_app
from cli.serve.http.connections import Connection, most_connections
from cli.serve.service import Service
from cli.serve.settings import ServiceSettings

BACKLOG = 512  # connections that wait to be accepted
LAST_SECONDS = 20  # time for uploads to end after a signal
_SIGNALS = (signal.SIGTERM, signal.SIGINT)
# Numbers and values of options of glibc's `mallopt`.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_MALLOC_OPTIONS = {_ARENA_MAX: 2, _MMAP_THRESHOLD: 1 << 20, _TRIM_THRESHOLD: 8 << 20}


class ShutdownSignal:
    """Requests shutdown at the first SIGTERM or SIGINT, and ends the process at the second.

    The handlers stay until the process ends.
    """

    def __init__(self) -> None:
        self.is_wanted = False
        self.begin: Callable[[], None] = lambda: None
        for number in _SIGNALS:
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        if self.is_wanted:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        self.is_wanted = True
        self.begin()


class Server(uvicorn.Server):
    """A server that ends at a shutdown signal."""

    def __init__(self, config: uvicorn.Config, ending: ShutdownSignal) -> None:
        super().__init__(config)
        ending.begin = self._end
        self.should_exit = ending.is_wanted

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield

    def _end(self) -> None:
        self.should_exit = True


def run_service(store: Path, settings: ServiceSettings, *, config: Path | None = None) -> None:
    """Serve a store until SIGTERM or Ctrl-C, then index all accepted dumps; see `Service`.

    Raises:
        WarehouseError: The store cannot be opened; other machines reach the address, and there are
            no tokens; or some dumps could not be indexed and stay in the inbox.
        OutputError: The service cannot listen on the address.
    """
    Access(store).check_start(settings.host)
    ending = ShutdownSignal()
    os.umask(os.umask(0o077) | 0o077)  # only the owner reads new files
    Connection.most = most_connections()
    reduce_memory()
    with listen(settings) as listening:
        service = Service(store, settings, config=config)
        host, port = listening.getsockname()[:2]
        service.announce(f"http://{_own_address(host)}:{port}")
        write_note(f"serving {store} at http://{f'[{host}]' if ':' in host else host}:{port}/")
        server_config = uvicorn.Config(
            make_app(service),
            http=Connection,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            backlog=BACKLOG,
            timeout_graceful_shutdown=LAST_SECONDS,
        )
        gc.freeze()  # a search for garbage among the imports would delay uploads
        Server(server_config, ending).run(sockets=[listening])
        gc.unfreeze()
    service.close()
    if service.problem:
        raise service.problem


def _own_address(host: str) -> str:
    """The address in a URL by which this machine reaches a service that listens on another.

    >>> [_own_address(host) for host in ("0.0.0.0", "::", "::1", "10.0.0.7")]
    ['127.0.0.1', '[::1]', '[::1]', '10.0.0.7']
    """
    own = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - not bound here
    return f"[{own}]" if ":" in own else own


def listen(settings: ServiceSettings) -> socket.socket:
    """A socket that listens on the address; its connections send each part of an answer at once.

    Raises:
        OutputError: The service cannot listen on the address.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    address = settings.host, settings.port
    try:
        listening = socket.create_server(address, family=family, backlog=BACKLOG)
    except OSError as error:
        where = f"{settings.host}:{settings.port}"
        problem = f"cannot listen: {error.strerror}; choose another address with --host and --port"
        raise OutputError(f"{where}: {problem}") from error
    # asyncio does so for its own sockets. Otherwise the end of an answer waits for the client to
    # acknowledge its beginning, which takes 40 ms.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


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
