"""A child process and the socket to it, from its start to its end."""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from tracehouse.warehouse.children.messages import Message, receive

_PAGE_BYTES = resource.getpagesize()
_NICENESS = 5  # relative to its owner, which gets three quarters of a contested core

_START_SECONDS = 120.0
_PROGRAM = "import sys; from {0} import serve; serve(int(sys.argv[1]), *sys.argv[2:])"
# Further threads would only consume memory, and Landlock would not confine them.
_ONE_THREAD = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}


def tie_to_owner() -> None:
    """Let the kernel kill this process when the other end of its standard input is closed.

    The owner never writes to that pipe; closing it stops the child. The owner handles Ctrl-C.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    owner = sys.stdin.fileno()
    fcntl.fcntl(owner, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(owner, fcntl.F_SETFL, fcntl.fcntl(owner, fcntl.F_GETFL) | os.O_ASYNC)


def disable_core_dumps() -> None:
    """Disable core dumps."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def lower_priority() -> None:
    """Lower this process's priority below its owner's."""
    os.nice(_NICENESS)


def count_data() -> int | None:
    """Bytes of memory that count as data at present; None on systems without /proc."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[5]) * _PAGE_BYTES
    except OSError:
        return None


def limit_data(most_bytes: int | None) -> None:
    """Let allocations fail beyond this many bytes of data; None removes the limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (hard if most_bytes is None else most_bytes, hard))


class ChildProcess:
    """A process that runs `serve` of one of our modules and sends a message when it is ready.

    The process inherits no open file of the parent except its end of `channel`.
    """

    def __init__(
        self, module: str, *arguments: str, environment: Mapping[str, str], stderr: int | None
    ) -> None:
        """Start the process.

        Args:
            module: The module's name.
            *arguments: Arguments of `serve` after the number of the child's end of the channel.
            environment: The process's environment variables.
            stderr: The process's standard error; None for the parent's.

        Raises:
            OSError: The process cannot be started.
        """
        self.channel, child_end = socket.socketpair()
        paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
        command: Sequence[str] = [
            sys.executable, "-P", "-c", _PROGRAM.format(module), str(child_end.fileno()),
            *arguments,
        ]  # fmt: skip
        with child_end, ExitStack() as opened:
            opened.enter_context(self.channel)
            self.process = subprocess.Popen(  # noqa: S603 - ourselves
                command,
                env={**environment, "PYTHONPATH": paths, **_ONE_THREAD},
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                pass_fds=[child_end.fileno()],
            )
            opened.pop_all()
        self._first: Message | None = None

    def await_start(self) -> Message:
        """The first message, sent when the process is ready; an OSError is passed on.

        Raises:
            EOFError: The process ended instead.
        """
        if self._first is None:
            self.channel.settimeout(_START_SECONDS)
            self._first = receive(self.channel).message
        return self._first

    def is_running(self) -> bool:
        """Whether the process has not ended."""
        return self.process.poll() is None

    def end(self) -> str:
        """Kill the process if it still runs; returns how it ended, in words."""
        self.process.kill()  # does nothing if the process has ended
        status = self.process.wait()
        if self.process.stdin:
            self.process.stdin.close()
        self.channel.close()
        return f"died of {signal.Signals(-status).name}" if status < 0 else f"ended with {status}"
