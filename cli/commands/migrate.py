"""`tracehouse migrate`: upgrade a store of an older version."""

from __future__ import annotations

from cli.options import DEFAULT_STORE, Store, Wait
from cli.stores import open_to_write


def migrate(store: Store = DEFAULT_STORE, wait: Wait = 0.0) -> None:
    """Upgrade a store that an older version of tracehouse wrote; nothing in it is lost.

    Commands that write to a store upgrade it by themselves; commands that only read refuse it.
    """
    with open_to_write(store, wait=wait):
        pass
