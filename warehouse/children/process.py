"""A child and the socket to it, from its start to its end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence

from warehouse.children.messages import Message, receive

_START_SECONDS = 120.0
_PROGRAM = "import sys; from {0} import serve; serve(int(sys.argv[1]), *sys.argv[2:])"
# One thread will do, and threads of its own take memory.
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


class ChildProcess:
    """A process that runs `serve` of a module of ours and sends a message when it is ready.

    It has none of our open files, but its end of the channel.

    Attributes:
        process: It.
        channel: Our end.
    """

    def __init__(
        self, module: str, *arguments: str, environment: Mapping[str, str], stderr: int | None
    ) -> None:
        """Start it.

        Args:
            module: The module's name.
            *arguments: What `serve` gets besides the number of its end of the channel.
            environment: Variables that it sees.
            stderr: Where it complains; None for where we do.

        Raises:
            OSError: It cannot be started.
        """
        self.channel, theirs = socket.socketpair()
        paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
        command: Sequence[str] = [
            sys.executable, "-P", "-c", _PROGRAM.format(module), str(theirs.fileno()), *arguments,
        ]  # fmt: skip
        try:
            self.process = subprocess.Popen(  # noqa: S603 - ourselves
                command,
                env={**environment, "PYTHONPATH": paths, **_ONE_THREAD},
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                pass_fds=[theirs.fileno()],
            )
        except OSError:
            self.channel.close()
            raise
        finally:
            theirs.close()
        self._first: Message | None = None

    def await_start(self) -> Message:
        """What it says when it is ready; an OSError is passed on.

        Raises:
            EOFError: It ended instead.
        """
        if self._first is None:
            self.channel.settimeout(_START_SECONDS)
            self._first = receive(self.channel).message
        return self._first

    def end(self) -> str:
        """End it; tells how it ended if it did so by itself."""
        self.process.kill()  # which changes nothing where it ends already
        status = self.process.wait()
        if self.process.stdin:
            self.process.stdin.close()
        self.channel.close()
        return f"died of {signal.Signals(-status).name}" if status < 0 else f"ended with {status}"
