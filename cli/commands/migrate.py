"""`tracehouse migrate`: a store of an older tracehouse."""

from __future__ import annotations

from cli.options import DEFAULT_STORE, Store, Wait
from cli.stores import open_to_write


def migrate(store: Store = DEFAULT_STORE, wait: Wait = 0.0) -> None:
    """Bring a store that an older tracehouse wrote up to date; nothing in it is lost.

    Commands that write do so by themselves; those that only read refuse such a store.
    """
    with open_to_write(store, wait=wait):
        pass
