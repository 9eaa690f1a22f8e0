"""A service from its start to its end."""

from __future__ import annotations

import gc
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import uvicorn

from cli.errors import OutputError
from cli.output.streams import write_note
from cli.serve.access.authorization import Access
from cli.serve.http.app import make_app
from cli.serve.http.connections import Connection, most_connections
from cli.serve.http.memory import hold_little_memory
from cli.serve.service import Service
from cli.serve.settings import ServiceSettings

BACKLOG = 512  # connections that wait to be taken, and are then taken in one go
LAST_SECONDS = 20  # that uploads have to end, when the service is told to
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class ShutdownSignal:
    """Whether the process was told to end: the first signal asks for it, the second does it.

    It is heeded from here to the end of the process, whatever that does meanwhile.
    """

    def __init__(self) -> None:
        """Not yet."""
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
    """A server that ends when the process is told to."""

    def __init__(self, config: uvicorn.Config, ending: ShutdownSignal) -> None:
        """Take what tells it."""
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
    """Serve a store until SIGTERM or Ctrl-C, then index what was accepted; see `Service`.

    Raises:
        WarehouseError: The store cannot be opened, or not all could be indexed; it stays in the
            inbox. Or others reach the address, and there are no tokens.
        OutputError: The address cannot be listened on.
    """
    Access(store).check_start(settings.host)
    ending = ShutdownSignal()
    os.umask(os.umask(0o077) | 0o077)  # what is made is its owner's
    Connection.most = most_connections()
    hold_little_memory()
    with listen(settings) as listening:
        service = Service(store, settings, config=config)
        host, port = listening.getsockname()[:2]
        write_note(f"serving {store} at http://{f'[{host}]' if ':' in host else host}:{port}/")
        how = uvicorn.Config(
            make_app(service),
            http=Connection,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            backlog=BACKLOG,
            timeout_graceful_shutdown=LAST_SECONDS,
        )
        gc.freeze()  # what is there now stays: a search for garbage in it would hold up uploads
        Server(how, ending).run(sockets=[listening])
        gc.unfreeze()
    service.close()
    if service.problem:
        raise service.problem


def listen(settings: ServiceSettings) -> socket.socket:
    """A socket on the address; what it accepts sends each part of an answer at once.

    Raises:
        OutputError: The address cannot be listened on.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    address = settings.host, settings.port
    try:
        listening = socket.create_server(address, family=family, backlog=BACKLOG)
    except OSError as error:
        where = f"{settings.host}:{settings.port}"
        problem = f"cannot be listened on: {error.strerror}; choose others with --host and --port"
        raise OutputError(f"{where}: {problem}") from error
    # As asyncio does with sockets of its own making; else the end of an answer waits until the
    # client has acknowledged its beginning, which it does after 40 ms.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
