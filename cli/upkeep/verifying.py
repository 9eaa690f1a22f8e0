"""The verification of `tracehouse store verify`, which a service runs in a process of its own."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tracehouse.warehouse.children.messages import GONE, send
from tracehouse.warehouse.children.process import disable_core_dumps, lower_priority, tie_to_owner
from tracehouse.warehouse.errors import ArchiveError, WarehouseError
from tracehouse.warehouse.opening.doors import open_readable
from tracehouse.warehouse.upkeep.verification import Sample, verify_and_record
from tracehouse.warehouse.upkeep.verification_record import TURNS, read_record

if TYPE_CHECKING:
    from tracehouse.warehouse.load.summary import IngestProgress
    from tracehouse.warehouse.upkeep.verification import Verification

    Progress = Callable[[IngestProgress], None] | None

_TRIES = 3  # segments may be merged while they are read


def serve(channel: int, store: str, scratch: str) -> None:
    """Verify the next hundredth of the dumps for a service, in a folder that the service deletes.

    The message has the damages in words and the number of dumps, or a `problem`.
    """
    tie_to_owner()
    disable_core_dumps()
    lower_priority()
    path = Path(store)
    with socket.socket(fileno=channel) as owner, suppress(*GONE):
        turn = read_record(path).turn
        sample = Sample(1 / TURNS, turn % TURNS / TURNS)
        try:
            found = read_and_verify(path, sample, scratch=Path(scratch), turn=turn + 1)
        except (WarehouseError, OSError, MemoryError) as error:
            send(owner, {"problem": str(error) or "not enough memory"})
            return
        told = [one.describe() for one in found.damages]
        send(owner, {"dumps": len(found.dumps), "damages": told})


def read_and_verify(
    store: Path,
    sample: Sample,
    *,
    wait: float = 0.0,
    scratch: Path | None = None,
    turn: int | None = None,
    progress: Progress = None,
) -> Verification:
    """Verify a store or its newest snapshot, and keep the result in the store.

    Args:
        store: The store's directory.
        sample: The dumps.
        wait: Seconds to wait for a writer of a store without a snapshot.
        scratch: Folder for the dumps that are loaded again.
        turn: The next turn of a service.
        progress: Called after each part.

    Raises:
        StoreError: The store cannot be read.
        ArchiveError: The archive is damaged.
    """
    left = _TRIES
    while True:
        opened = open_readable(store, wait=wait)
        left -= 1
        try:
            live = opened.answering.connection("trusted")
            return verify_and_record(
                live, store, sample, scratch=scratch, turn=turn, progress=progress
            )
        except ArchiveError:
            if not left:
                raise
        finally:
            opened.release()
