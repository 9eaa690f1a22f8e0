"""Publishes a snapshot of a store repeatedly, and is killed before each of its changes to disk.

Run as a program, with the store. After each kill every snapshot must be complete, and the next
one must be published as usual. It prints the number of kills.
"""

from __future__ import annotations

import os
import signal
import sys
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from tests.support.forks import fork, wait
from tracehouse.warehouse.engine.store_checks import seal_of
from tracehouse.warehouse.engine.store_connections import StoreConnections
from tracehouse.warehouse.engine.store_file import SNAPSHOT_FOLDER
from tracehouse.warehouse.opening.snapshots import KEPT, find_snapshots
from tracehouse.warehouse.store import Store

_SYSTEM = {"posix", "fcntl"}
_LOOKING = {"stat", "fstat", "scandir", "listdir", "close", "fspath", "pread"}


def main(store: Path) -> None:
    n_killed = 0
    while (outcome := wait(fork(partial(_publish, store, n_killed)))) == "killed":
        assert wait(fork(partial(_go_on, store))) == "done", n_killed
        n_killed += 1
    assert outcome == "done"
    print(n_killed)


def _publish(store: Path, left: int) -> None:
    """Publish a snapshot, and die after `left` changes to the disk."""

    def watch(_: FrameType, event: str, call: Any) -> None:
        nonlocal left
        is_system = event == "c_call" and call.__module__ in _SYSTEM
        if is_system and call.__name__ not in _LOOKING:
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1

    with Store.open_to_write(store) as warehouse:
        sys.setprofile(watch)
        warehouse.snapshot()
        sys.setprofile(None)


def _go_on(store: Path) -> None:
    """Pass if every snapshot is complete, and the next one leaves no other file behind."""
    for snapshot in find_snapshots(store):
        connections = StoreConnections(store, snapshot.path)
        connections.check()
        counts = "SELECT count(*), (SELECT sum(n_events) FROM dumps) FROM events"
        ((n_events, wanted),) = connections.connection("trusted").execute(counts).fetchall()
        assert n_events == wanted > 0
        connections.close()
    with Store.open_to_write(store) as warehouse:
        warehouse.snapshot()
    found = find_snapshots(store)
    assert len(found) <= KEPT
    wanted = {path for one in found for path in (one.path, seal_of(one.path))}
    assert wanted >= {*(store / SNAPSHOT_FOLDER).iterdir()} >= {one.path for one in found}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
