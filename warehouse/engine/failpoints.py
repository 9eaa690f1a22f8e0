"""Places where tests can kill a process, to check the remains."""

from __future__ import annotations

import os
import signal
from collections import Counter

VARIABLE = "TRACEHOUSE_FAILPOINT"  # NAME:COUNT kills at the COUNT-th pass of failpoint NAME

_met: Counter[str] = Counter()


def failpoint(name: str) -> None:
    """Kill this process if the environment asks for it here."""
    wanted = os.environ.get(VARIABLE)
    if wanted:
        _met[name] += 1
        if wanted == f"{name}:{_met[name]}":
            os.kill(os.getpid(), signal.SIGKILL)
