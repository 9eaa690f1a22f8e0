"""A service from its start to its end."""

from __future__ import annotations

import socket
from pathlib import Path

import uvicorn

from cli.output.streams import write_note
from cli.serve.access import Access
from cli.serve.app import make_app
from cli.serve.service import Service
from cli.serve.settings import ServiceSettings


def run_service(store: Path, settings: ServiceSettings) -> None:
    """Serve a store until SIGTERM or Ctrl-C, then index what was accepted.

    Raises:
        StoreError: The store cannot be opened, or not all could be indexed; it stays in the inbox.
            Or others reach the address, and there are no tokens.
        OSError: The address cannot be listened on.
    """
    Access(store).check_start(settings.host)
    with socket.create_server((settings.host, settings.port), reuse_port=False) as listening:
        service = Service(store, settings)
        host, port = listening.getsockname()[:2]
        write_note(f"serving {store} at http://{host}:{port}/")
        config = uvicorn.Config(
            make_app(service), http="httptools", log_config=None, access_log=False
        )
        uvicorn.Server(config).run(sockets=[listening])
