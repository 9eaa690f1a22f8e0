"""`tracehouse migrate`: a store of an older tracehouse."""

from __future__ import annotations

from cli.options import DEFAULT_STORE, Store


def migrate(store: Store = DEFAULT_STORE) -> None:
    """Bring a store that an older tracehouse wrote up to date; nothing in it is lost.

    Commands that write do so by themselves; those that only read refuse such a store.
    """
    from warehouse import Warehouse

    Warehouse.open(store).close()
