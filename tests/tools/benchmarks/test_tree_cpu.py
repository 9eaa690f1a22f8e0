"""CPU of processes that ended is not lost."""

from __future__ import annotations

import subprocess
import sys
import time

from tests.tools.benchmarks.tree_cpu import watched_tree

_BURNED = 0.4
# As Spark's daemon of Python workers: nobody waits for the child that burns CPU.
_PARENT = f"""
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
child = os.fork()
if child == 0:
    while time.process_time() < {_BURNED}:
        pass
    os._exit(0)
try:
    os.waitpid(child, 0)
except ChildProcessError:
    print("ended", flush=True)
input()
"""


def test_cpu_time_of_an_ended_unreaped_child_stays_counted() -> None:
    with watched_tree() as tree:
        before = tree.seconds()
        parent = subprocess.Popen(
            [sys.executable, "-c", _PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert parent.stdout.read(6) == b"ended\n"
        ended = tree.seconds()
        assert ended - before > _BURNED / 2
        parent.communicate(b"\n")
        assert tree.seconds() >= ended


def test_cpu_that_is_used_is_counted_once() -> None:
    with watched_tree() as tree:
        before, own = tree.seconds(), time.process_time()
        while time.process_time() < own + 0.3:
            pass
        used = time.process_time() - own
        assert abs(tree.seconds() - before - used) < 0.15
