"""`tracehouse compact`: free disk space."""

from __future__ import annotations

from cli.options import StoreOptions
from cli.output.streams import write_note
from cli.stores import lock_hint, open_to_write


def compact(options: StoreOptions) -> None:
    """Return space that was freed in a store, for example by 'tracehouse retention', to the disk.

    Copies the DuckDB file without its free blocks, compares both table by table, and replaces the
    old file if the new one is smaller; until then the disk must hold both. Small segments of the
    archive are merged.
    """
    from warehouse.upkeep.compact import compact_store

    with open_to_write(options.store, wait=options.wait):
        pass  # recovers what a killed writer left behind
    with lock_hint(options.wait):
        done = compact_store(options.store, wait=options.wait)
    options.write_rows([done._asdict()])
    if done.new_bytes == done.old_bytes:
        write_note("note: the DuckDB file has no space to return: a copy of it is not smaller")
