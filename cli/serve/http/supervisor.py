"""The supervisor of the service, such as systemd: the sockets it passes, and messages to it.

Both use systemd's protocols: `LISTEN_FDS` (sd_listen_fds) and `NOTIFY_SOCKET` (sd_notify).
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress

from tracehouse.cli.errors import OutputError

_FIRST_SOCKET = 3  # its file descriptor; the others follow
_PASSED = ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES")


def passed_sockets() -> list[socket.socket]:
    """The sockets that the supervisor listens on for this process; empty if there are none.

    Connections wait in them while no service runs. Child processes get neither the sockets nor the
    variables.

    Raises:
        OutputError: A socket does not listen for TCP connections.
    """
    process_id, count, _ = (os.environ.pop(name, "") for name in _PASSED)
    if process_id != str(os.getpid()):
        return []
    return [_listening(_FIRST_SOCKET + number) for number in range(int(count))]


def _listening(descriptor: int) -> socket.socket:
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
