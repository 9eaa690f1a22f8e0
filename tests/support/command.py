"""Command lines in a process of their own, at will on a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-c", "import sys; from cli.main import main; sys.exit(main())")
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
_STYLES = re.compile(rb"\x1b\[[?0-9;]*[a-zA-Z]")


class Outcome(NamedTuple):
    """What a command line did: exit status, standard output, standard error."""

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


def run_process(*args: str | Path) -> Outcome:
    """Run a command line in a process, its output in pipes."""
    done = subprocess.run([*COMMAND, *map(str, args)], capture_output=True, env=ENVIRONMENT)
    return Outcome(done.returncode, done.stdout, done.stderr.decode())


def run_on_terminal(*args: str | Path, width: int = 120) -> Outcome:
    """Run a command line on a terminal; its outputs are one, without styles and cursor moves."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    command = [*COMMAND, *map(str, args)]
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=ENVIRONMENT
    ) as process:
        os.close(theirs)
        shown = bytearray()
        while data := _read(ours):
            shown += data
    os.close(ours)
    return Outcome(process.returncode, _STYLES.sub(b"", shown).replace(b"\r\n", b"\n"), "")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other side is closed
        return b""
