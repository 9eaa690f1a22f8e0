"""The rebuild drill of `tracehouse store verify --drill`, which a service runs each night."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from tracehouse.warehouse.children.messages import GONE, send
from tracehouse.warehouse.children.process import disable_core_dumps, lower_priority, tie_to_owner
from tracehouse.warehouse.errors import ArchiveError, WarehouseError
from tracehouse.warehouse.load.children import ChildDecoder, DecodingChildren
from tracehouse.warehouse.opening.read import open_to_read
from tracehouse.warehouse.upkeep.drill import drill, sample_of
from tracehouse.warehouse.upkeep.drill_record import keep_record

if TYPE_CHECKING:
    from tracehouse.warehouse.load.summary import IngestProgress
    from tracehouse.warehouse.upkeep.verification import Verification

_TRIES = 3  # segments may be merged while they are read


def serve(channel: int, store: str, night: str, scratch: str) -> None:
    """Run the drill of a night for a service, in an empty folder, which the service deletes.

    The message has the damages in words, the number of dumps and the remedy, or a `problem`.
    """
    tie_to_owner()
    disable_core_dumps()
    lower_priority()
    with socket.socket(fileno=channel) as owner, suppress(*GONE):
        try:
            found = run_drill(Path(store), date.fromisoformat(night), Path(scratch))
        except (WarehouseError, OSError, MemoryError) as error:
            send(owner, {"problem": str(error) or "not enough memory"})
            return
        told = [one.describe() for one in found.damages]
        send(owner, {"dumps": found.n_decoded, "damages": told, "remedy": found.remedy})


def run_drill(
    store: Path,
    night: date,
    scratch: Path,
    *,
    wait: float = 0.0,
    progress: Callable[[IngestProgress], None] | None = None,
) -> Verification:
    """Rebuild a night's dumps in an empty folder, compare them, and keep the record in the store.

    Raises:
        StoreError: The store cannot be read.
        ArchiveError: The archive is damaged.
    """
    for attempt in range(1, _TRIES + 1):
        try:
            own = scratch / str(attempt)
            own.mkdir()
            found = _try_drill(store, night, own, wait=wait, progress=progress)
        except ArchiveError:
            if attempt == _TRIES:
                raise
        else:
            break
    keep_record(store, night, dump_count=found.n_decoded, difference_count=len(found.damages))
    return found


def _try_drill(
    store: Path,
    night: date,
    scratch: Path,
    *,
    wait: float,
    progress: Callable[[IngestProgress], None] | None,
) -> Verification:
    opened = open_to_read(store, wait=wait)
    try:
        with closing(DecodingChildren()) as children:
            return drill(
                opened.answering.connection("trusted"),
                store,
                scratch,
                sample=sample_of(night),
                decoder=ChildDecoder(children, is_limited=False),
                progress=progress,
            )
    finally:
        opened.release()
