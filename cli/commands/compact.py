"""`tracehouse compact`: room on the disk given back."""

from __future__ import annotations

from cli.options import StoreOptions, with_store_options
from cli.output.streams import write_note
from cli.stores import lock_hint, open_to_write


@with_store_options
def compact(options: StoreOptions) -> None:
    """Give back the room that was freed in a store, as by 'tracehouse retention'.

    A copy of its DuckDB file without free blocks is made beside it, compared table by table, and
    takes its place if it is smaller; until then there must be room for both. Small segments of the
    archive are merged.
    """
    import pyarrow as pa

    from warehouse.storage.compaction import compact_store

    with open_to_write(options.store, wait=options.wait):
        pass  # what a writer left behind that was killed is taken over
    with lock_hint(options.wait):
        done = compact_store(options.store, wait=options.wait)
    options.write(pa.Table.from_pylist([done._asdict()]))
    if done.new_bytes == done.old_bytes:
        write_note("note: the DuckDB file has no room to give back: a copy of it is not smaller")
