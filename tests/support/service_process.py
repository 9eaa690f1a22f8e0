"""Services as users start them: each in a separate process, on its own port."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from tests.support.command import COMMAND, ENVIRONMENT
from tests.support.processes import command_line, memory_bytes, read_process

_ADDRESS = re.compile(r"serving .* at http://127\.0\.0\.1:(\d+)/")


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
        self, store: Path, environment: Mapping[str, str] | None = None, **settings: object
    ) -> None:
        """Start it with additions to its environment and settings, and wait until it listens."""
        given = {f"TRACEHOUSE_SERVE_{name.upper()}": str(value) for name, value in settings.items()}
        self._process = subprocess.Popen(
            [*COMMAND, "serve", "--store", str(store), "--port", "0"],
            stderr=subprocess.PIPE,
            text=True,
            env={**ENVIRONMENT, **given, **(environment or {})},
        )
        assert self._process.stderr
        self.said = ""
        while line := self._process.stderr.readline():
            self.said += line
            if found := _ADDRESS.search(line):
                self.port = int(found[1])
                return
        self._process.stderr.close()
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
        found = filter(None, map(read_process, self._family()))
        return sum(process.cpu_seconds + process.children_seconds for process in found)

    def resident_bytes(self) -> int:
        """Private memory of the process and its children."""
        return sum(memory_bytes(pid, "RssAnon") for pid in self._family())

    def child_peaks(self, program: str) -> list[int]:
        """Peak memory of each of its children that run a program."""
        return [
            memory_bytes(pid, "VmHWM")
            for pid in self._family()
            if program in command_line(pid) and pid != self.id
        ]

    def _family(self) -> list[int]:
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
        assert self._process.stderr
        self._process.stderr.close()
