"""Commands whose disk fails once: failing_disk.c is preloaded into them."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support.command import COMMAND, ENVIRONMENT

COMPILER = "cc"
_SOURCE = Path(__file__).with_suffix(".c")


def build_failing_disk(folder: Path) -> Path:
    """The library to preload; a CalledProcessError or OSError if it cannot be built."""
    library = folder / "failing_disk.so"
    subprocess.run([COMPILER, "-shared", "-fPIC", "-o", library, _SOURCE, "-ldl"], check=True)
    return library


def run_on_failing_disk(
    library: Path, *arguments: str | Path, path: str, kind: str, count: int, error: int
) -> subprocess.CompletedProcess[str]:
    """Run tracehouse while one operation on files fails.

    Args:
        library: The result of `build_failing_disk`.
        arguments: Arguments of the command.
        path: Text in the path of the files.
        kind: The operation: open, rename, write or sync.
        count: Number of the operation of that kind that fails.
        error: The errno that it fails with.
    """
    faults = {"KIND": kind, "PATH": path, "COUNT": str(count), "ERROR": str(error)}
    environment = ENVIRONMENT | {f"FAULT_{name}": value for name, value in faults.items()}
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        env=environment | {"LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
        check=False,
    )
