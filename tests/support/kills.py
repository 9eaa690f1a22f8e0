"""Processes that are killed at a moment: NAME:COUNT is the COUNT-th time that one gets there."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from tests.support.moments import watched

ROOT = Path(__file__).parents[2]

_VARIABLE = "TRACEHOUSE_TEST_KILL"
_SITE = Path(__file__).with_name("startup")  # has a sitecustomize.py, which Python runs first
_PUT = ExitStack()  # around the product's functions, until the process ends


def kill_at(point: str, action: Callable[[], object]) -> None:
    """Run an action in another process, which must reach that moment and be killed there."""
    child = os.fork()
    if not child:
        try:
            die_at(point)
            action()
        finally:
            os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL


def environment(point: str) -> Mapping[str, str]:
    """The environment of a process that is killed at that moment, unlike its own children."""
    path = os.pathsep.join(filter(None, (str(_SITE), str(ROOT), os.environ.get("PYTHONPATH"))))
    return {_VARIABLE: point, "PYTHONPATH": path}


def die_at(point: str) -> None:
    """Let this process be killed at that moment."""
    reached: Counter[str] = Counter()

    def die(name: str) -> None:
        reached[name] += 1
        if point == f"{name}:{reached[name]}":
            os.kill(os.getpid(), signal.SIGKILL)

    _PUT.enter_context(watched(die))


def die_as_environment_says() -> None:
    """Let this process be killed where `environment` says."""
    if point := os.environ.pop(_VARIABLE, ""):
        os.environ["PYTHONPATH"] = os.environ["PYTHONPATH"].partition(os.pathsep)[2]
        die_at(point)
