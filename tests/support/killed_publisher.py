"""Publishes a snapshot of a store repeatedly, and is killed before each of its changes to disk.

Run as a program, with the store. After each kill every snapshot must be complete, and the next
one must be published as usual. It prints the number of kills.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from warehouse.engine.seal import seal_of
from warehouse.engine.store_connections import StoreConnections
from warehouse.engine.store_file import SNAPSHOT_FOLDER
from warehouse.opening.snapshots import KEPT, find_snapshots
from warehouse.store import Warehouse

KILLED = 9
_SYSTEM = {"posix", "fcntl"}
_LOOKING = {"stat", "fstat", "scandir", "listdir", "close", "fspath", "pread"}


def main(store: Path) -> None:
    n_killed = 0
    while (code := _forked(_publish, store, n_killed)) == KILLED:
        assert _forked(_go_on, store) == 0, n_killed
        n_killed += 1
    assert code == 0
    print(n_killed)


def _forked(work: Callable[..., None], *args: object) -> int:
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    try:
        work(*args)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _publish(store: Path, left: int) -> None:
    """Publish a snapshot, and die after `left` changes to the disk."""

    def watch(_: FrameType, event: str, call: Any) -> None:
        nonlocal left
        is_system = event == "c_call" and call.__module__ in _SYSTEM
        if is_system and call.__name__ not in _LOOKING:
            if left == 0:
                os._exit(KILLED)
            left -= 1

    with Warehouse.open(store) as warehouse:
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
    with Warehouse.open(store) as warehouse:
        warehouse.snapshot()
    found = find_snapshots(store)
    assert len(found) <= KEPT
    wanted = {path for one in found for path in (one.path, seal_of(one.path))}
    assert wanted >= {*(store / SNAPSHOT_FOLDER).iterdir()} >= {one.path for one in found}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
