"""The cost of a piece of code, measured in a child process that runs nothing else (on Linux)."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import NamedTuple

_CHILD = """
import json, resource, sys
def peak():  # ru_maxrss would be that of the parent
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (120, 120))
exec(sys.argv[1])
before = peak()
answer = run(*sys.argv[3:])
print(json.dumps([answer, peak() - before]))
"""


class Cost(NamedTuple):
    """The result of the code's `run`, and the bytes by which the process grew."""

    answer: object
    grown_bytes: int


def run_alone(code: str, *arguments: str) -> Cost:
    """Call `run(*arguments)` of this code, with 120 seconds of CPU time and 8 GiB of memory."""
    command = [sys.executable, "-c", _CHILD, code, "", *arguments]
    child = subprocess.run(command, capture_output=True, text=True, check=False)
    assert child.returncode == 0, child.stderr[-2000:]
    return Cost(*json.loads(child.stdout.splitlines()[-1]))
