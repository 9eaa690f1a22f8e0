"""`tracehouse migrate`: upgrade a store of an older version."""

from __future__ import annotations

from tracehouse.cli.commands.rebuild import fail_if_incomplete, rebuild_here
from tracehouse.cli.options import DEFAULT_STORE, Store, Wait
from tracehouse.cli.output.streams import write_note
from tracehouse.cli.stores import open_to_write


def migrate(store: Store = DEFAULT_STORE, wait: Wait = 0.0) -> None:
    """Upgrade a store that an older version of tracehouse wrote; nothing in it is lost.

    The store is changed in place. If it is of a development version before 0.1.0, it is rebuilt
    from its archive instead, and the old file is kept next to the new one.

    A service does both when it starts. Commands that write change a store in place by themselves,
    but do not rebuild it; commands that only read refuse it.
    """
    from tracehouse.warehouse.errors import OldStoreError

    try:
        with open_to_write(store, wait=wait):
            return
    except OldStoreError as error:
        write_note(f"note: {store}: {error.damage}; rebuilding it from the archive")
    done = rebuild_here(store, wait=wait)
    write_note(f"note: {store}: rebuilt, with {done.n_dumps:,} dumps")
    fail_if_incomplete(done)
