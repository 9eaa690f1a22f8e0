"""Arrow tables to a DuckDB store, and the store's answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warehouse.store import Warehouse

__all__ = ["DEFAULT_PATH", "Warehouse"]

DEFAULT_PATH = "tracehouse.store"


def __getattr__(name: str) -> object:
    """`Warehouse`, on first use: the catalogue and `tracehouse --help` must not wait for DuckDB.

    Raises:
        AttributeError: Any other name.
    """
    if name != "Warehouse":
        raise AttributeError(f"module 'warehouse' has no attribute '{name}'")
    from warehouse.store import Warehouse

    return Warehouse
