"""`tracehouse snapshot`: a copy of the store that can be read while it is written."""

from __future__ import annotations

from cli.options import StoreOptions, with_store_options
from cli.stores import open_to_write


@with_store_options
def snapshot(options: StoreOptions) -> None:
    """Publish a snapshot, which others read while a process writes the store.

    It is a whole copy of the store's DuckDB file, read-only, in its folder snapshots. The newest
    three are kept, and those that somebody reads.
    """
    import pyarrow as pa

    with open_to_write(options.store, wait=options.wait) as warehouse:
        done = warehouse.snapshot()
    row = {"path": str(done.path), "taken_at": done.taken_at, "bytes": done.path.stat().st_size}
    options.write(pa.Table.from_pylist([row]))
