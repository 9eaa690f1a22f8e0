"""A service from its start to its end."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import uvicorn

from cli.output.streams import write_note
from cli.serve.app import make_app
from cli.serve.connections import Connection, most_connections
from cli.serve.service import Service
from cli.serve.settings import ServiceSettings

BACKLOG = 4096  # connections that wait to be taken
LAST_SECONDS = 20  # that uploads have to end, when the service is told to
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Server(uvicorn.Server):
    """A server that the first signal ends orderly, and the second at once."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Be told of signals, from here to the end of the process."""
        for number in _SIGNALS:
            signal.signal(number, self._end)
        yield

    def _end(self, number: int, _: FrameType | None) -> None:
        self.should_exit = True
        write_note(
            "ending: what was accepted is indexed; once more ends at once, and loses nothing"
        )
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_DFL)


def run_service(store: Path, settings: ServiceSettings) -> None:
    """Serve a store until SIGTERM or Ctrl-C, then index what was accepted.

    Raises:
        WarehouseError: The store cannot be opened, or not all could be indexed; it stays in the
            inbox.
        OSError: The address cannot be listened on.
    """
    Connection.most = most_connections()
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    address = (settings.host, settings.port)
    with socket.create_server(address, family=family, backlog=BACKLOG) as listening:
        service = Service(store, settings)
        host, port = listening.getsockname()[:2]
        write_note(f"serving {store} at http://{f'[{host}]' if ':' in host else host}:{port}/")
        config = uvicorn.Config(
            make_app(service),
            http=Connection,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            backlog=BACKLOG,
            timeout_graceful_shutdown=LAST_SECONDS,
        )
        Server(config).run(sockets=[listening])
    service.close()
    if service.problem:
        raise service.problem
