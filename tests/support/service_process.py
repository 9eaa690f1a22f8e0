"""Services as users start them: each in a separate process, on its own port."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from types import TracebackType

from tests.support.command import COMMAND, ENVIRONMENT
from tests.support.processes import command_line, memory_bytes, read_process

_ADDRESS = re.compile(r"serving .* at http://127\.0\.0\.1:(\d+)/")

# Does what systemd does for a socket: it is file 3, and two variables say so.
_WITH_SOCKET = """
import os, sys
os.dup2(int(sys.argv.pop(1)), 3)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
from tracehouse.cli.main import main
sys.exit(main())
"""


class NotStartedError(AssertionError):
    """A service ended before it listened.

    Attributes:
        status: Its exit status.
    """

    def __init__(self, said: str, status: int) -> None:
        """Describe the failure by the service's output."""
        super().__init__(f"the service did not start, and ended with {status}: {said}")
        self.status = status


class ServiceProcess:
    """`tracehouse serve` in a process, which is killed at the end of the body if it still runs.

    Attributes:
        port: The port on which it listens.
        said: Its output until it listened.
    """

    def __init__(
        self,
        store: Path,
        environment: Mapping[str, str] | None = None,
        *,
        log: Path | None = None,
        listening: socket.socket | None = None,
        **settings: object,
    ) -> None:
        """Start it with additions to its environment and settings, and wait until it listens.

        Its log is a pipe unless it has a file, and a supervisor's socket may be passed to it.
        """
        settings = {"port": 0, **settings}
        given = {f"TRACEHOUSE_SERVE_{name.upper()}": str(value) for name, value in settings.items()}
        serve = ["serve", "--store", str(store)]
        passed = [] if listening is None else [listening.fileno()]
        command = [sys.executable, "-c", _WITH_SOCKET, *map(str, passed)] if passed else COMMAND
        place = log.stat().st_size if log and log.exists() else 0
        with nullcontext(subprocess.PIPE) if log is None else open(log, "ab") as error:
            self._process = subprocess.Popen(
                [*command, *serve],
                stderr=error,
                text=True,
                env={**ENVIRONMENT, **given, **(environment or {})},
                pass_fds=passed,
            )
        self.said = ""
        lines = self._process.stderr or (log and _follow(log, place, self.is_running))
        assert lines
        for line in lines:
            self.said += line
            if found := _ADDRESS.search(line):
                self.port = int(found[1])
                return
        self._close()
        raise NotStartedError(self.said, self._process.wait())

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}/"

    @property
    def id(self) -> int:
        """Id of the process."""
        return self._process.pid

    def signal(self, number: int) -> None:
        """Send a signal to it."""
        self._process.send_signal(number)

    def read_log(self) -> str:
        """Its output from now on until it ends; it drops lines that are not read."""
        assert self._process.stderr
        return self._process.stderr.read()

    def wait(self, seconds: float = 60.0) -> int:
        """Its exit status, once it has ended."""
        return self._process.wait(seconds)

    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def kill(self) -> None:
        """Kill it, and wait until it is gone."""
        self.signal(signal.SIGKILL)
        self.wait()

    def cpu_seconds(self) -> float:
        """CPU time of the process and its children."""
        found = filter(None, map(read_process, self.family()))
        return sum(process.cpu_seconds + process.children_seconds for process in found)

    def resident_bytes(self) -> int:
        """Private memory of the process and its children."""
        return sum(memory_bytes(pid, "RssAnon") for pid in self.family())

    def child_peaks(self, program: str) -> list[int]:
        """Peak memory of each of its children that run a program."""
        return [
            memory_bytes(pid, "VmHWM")
            for pid in self.family()
            if program in command_line(pid) and pid != self.id
        ]

    def family(self) -> list[int]:
        found: set[int] = set()
        for thread in Path(f"/proc/{self.id}/task").iterdir():
            with suppress(OSError):  # it has ended
                found.update(map(int, (thread / "children").read_text().split()))
        return [self.id, *sorted(found)]

    def __enter__(self) -> ServiceProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self.is_running():
            self.kill()
        self._close()

    def _close(self) -> None:
        if self._process.stderr:
            self._process.stderr.close()


def _follow(log: Path, place: int, is_written: Callable[[], bool]) -> Iterator[str]:
    """Whole lines of a log from a place on, while it is written."""
    with open(log, encoding="utf-8") as file:
        file.seek(place)
        while is_written():
            place = file.tell()
            if (line := file.readline()).endswith("\n"):
                yield line
            else:
                file.seek(place)
                time.sleep(0.01)
