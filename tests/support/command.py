"""Command lines in a separate process, optionally on a terminal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
COMMAND = (
    sys.executable,
    "-c",
    "import sys; from tracehouse.cli.main import main; sys.exit(main())",
)
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
_COMMANDS = (
    sys.executable,
    "-c",
    """import contextlib, json, sys; from tracehouse.cli.main import main
for args in json.loads(sys.argv[1]):
    with contextlib.suppress(SystemExit):
        main(args)""",
)
_STYLES = re.compile(rb"\x1b\[[?0-9;]*[a-zA-Z]")


class Outcome(NamedTuple):
    """The outcome of a command line: exit status, standard output, standard error."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        """Standard output as text."""
        return self.out.decode()

    @property
    def error(self) -> str:
        """The one line on standard error."""
        assert self.err.count("\n") == 1, self.err
        return self.err.rstrip("\n")


Run = Callable[..., Outcome]


def run_process(*args: str | Path) -> Outcome:
    """Run a command line in a process, its output in pipes."""
    done = subprocess.run([*COMMAND, *map(str, args)], capture_output=True, env=ENVIRONMENT)
    return Outcome(done.returncode, done.stdout, done.stderr.decode())


def run_on_terminal(*args: str | Path, width: int = 120) -> Outcome:
    """Run a command line on a terminal; both outputs together, without styles and cursor moves."""
    code, shown = _run_on_terminal([*COMMAND, *map(str, args)], ENVIRONMENT, width)
    return Outcome(code, _STYLES.sub(b"", shown).replace(b"\r\n", b"\n"), "")


def run_all_on_terminal(lines: Sequence[Sequence[str | Path]]) -> str:
    """The output of command lines run one after the other on a terminal without styles."""
    texts = json.dumps([[str(arg) for arg in line] for line in lines])
    code, shown = _run_on_terminal([*_COMMANDS, texts], ENVIRONMENT | {"TERM": "dumb"}, 100)
    assert code == 0
    return shown.decode().replace("\r\n", "\n")


def _run_on_terminal(
    command: Sequence[str], environment: Mapping[str, str], width: int
) -> tuple[int, bytes]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        shown = bytearray()
        while data := _read(ours):
            shown += data
    os.close(ours)
    return process.returncode, bytes(shown)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other side is closed
        return b""
