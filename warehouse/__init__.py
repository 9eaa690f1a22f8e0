"""Arrow tables to a DuckDB store, and the store's answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warehouse.inbox.inbox import Inbox
    from warehouse.store import Warehouse

__all__ = ["DEFAULT_PATH", "Inbox", "Warehouse"]

DEFAULT_PATH = "tracehouse.store"


def __getattr__(name: str) -> object:
    """Import public names on first use: `tracehouse --help` must not wait for DuckDB.

    Raises:
        AttributeError: The name is not public.
    """
    if name == "Warehouse":
        from warehouse.store import Warehouse

        return Warehouse
    if name == "Inbox":
        from warehouse.inbox.inbox import Inbox

        return Inbox
    raise AttributeError(f"module 'warehouse' has no attribute '{name}'")
