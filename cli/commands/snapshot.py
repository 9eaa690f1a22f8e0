"""`tracehouse snapshot`: a copy of the store to read while the store is written."""

from __future__ import annotations

from cli.options import StoreOptions
from cli.upkeep.running import run_task
from cli.upkeep.tasks import TakeSnapshot


def snapshot(options: StoreOptions) -> None:
    """Publish a snapshot, which other processes can read while one writes the store.

    A snapshot is a full, read-only copy of the store's DuckDB file in the store's folder snapshots.
    The newest three and those in use are kept.
    """
    options.write(run_task(TakeSnapshot(), options.store, wait=options.wait))
