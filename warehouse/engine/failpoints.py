"""Places where a process can be made to die, so that tests can see what is left."""

from __future__ import annotations

import os
import signal
from collections import Counter

VARIABLE = "TRACEHOUSE_FAILPOINT"  # NAME:COUNT, killed when it comes there for the COUNT-th time

_met: Counter[str] = Counter()


def failpoint(name: str) -> None:
    """Do nothing; or kill this process, where the environment says so."""
    wanted = os.environ.get(VARIABLE)
    if wanted:
        _met[name] += 1
        if wanted == f"{name}:{_met[name]}":
            os.kill(os.getpid(), signal.SIGKILL)
