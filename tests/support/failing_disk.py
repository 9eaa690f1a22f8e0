"""Commands whose disk fails."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support.command import COMMAND, ENVIRONMENT
from tests.support.disk_shim import Fault, FaultControl


def run_on_failing_disk(
    library: Path, *arguments: str | Path, fault: Fault
) -> subprocess.CompletedProcess[str]:
    """Run tracehouse while operations on files fail.

    Args:
        library: The result of `build_shim`.
        arguments: Arguments of the command.
        fault: What fails.
    """
    control = FaultControl(library.with_suffix(".fault"))
    control.begin(fault)
    try:
        return subprocess.run(
            [*COMMAND, *map(str, arguments)],
            env=ENVIRONMENT | control.environment | {"LD_PRELOAD": str(library)},
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        control.end()
