"""Stores as commands open them to write."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warehouse import Warehouse


@contextmanager
def open_to_write(
    store: Path, *, create: bool = False, wait: float = 0.0, is_shared: bool = False
) -> Iterator[Warehouse]:
    """The store, open for writing; unless it is shared, what is made meanwhile is its owner's."""
    from warehouse import Warehouse

    before = os.umask(0o077)  # DuckDB makes its log as the umask says
    os.umask(before if is_shared else before | 0o077)
    try:
        with Warehouse.open(store, create=create, wait=wait, is_shared=is_shared) as warehouse:
            yield warehouse
    finally:
        os.umask(before)
