from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.command import ENVIRONMENT

# What is freed lies between what is kept; by itself, the C library would hold on to it.
_PROGRAM = """
import re
import pyarrow as pa
from cli.serve.http.memory import hold_little_memory

def held():
    return int(re.search(r"RssAnon:\\s+(\\d+)", open("/proc/self/status").read())[1]) >> 10

if {is_little}:
    hold_little_memory()
bytes(30 << 20)
before, kept, freed = held(), [], []
for _ in range(32):
    freed.append(bytearray(b"1") * (3 << 20))
    kept.append(bytearray(b"1") * 10_000)
freed.clear()
print(pa.default_memory_pool().backend_name, held() - before)
"""


def _run(*, is_little: bool) -> tuple[str, int]:
    program = _PROGRAM.format(is_little=is_little)
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=True)
    pool, megabytes = done.stdout.split()
    return pool, int(megabytes)


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux what is held")
def test_what_is_freed_goes_back_to_the_system() -> None:
    """Also judges the numbers of options that `mallopt` takes: seen with glibc 2.36."""
    assert _run(is_little=False)[1] > 80
    pool, megabytes = _run(is_little=True)
    assert pool == "system"
    assert megabytes < 10
