"""`tracehouse snapshot`: a copy of the store to read while the store is written."""

from __future__ import annotations

from cli.options import StoreOptions
from cli.stores import open_to_write


def snapshot(options: StoreOptions) -> None:
    """Publish a snapshot, which other processes can read while one writes the store.

    A snapshot is a full, read-only copy of the store's DuckDB file in the store's folder snapshots.
    The newest three and those in use are kept.
    """
    with open_to_write(options.store, wait=options.wait) as warehouse:
        done = warehouse.snapshot()
    row = {"path": str(done.path), "taken_at": done.taken_at, "bytes": done.path.stat().st_size}
    options.write_rows([row])
