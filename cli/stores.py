"""Stores as commands open them: to write, or to read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from cli.output.streams import write_note

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


@contextmanager
def open_to_read(store: Path, *, wait: float = 0.0) -> Iterator[Warehouse]:
    """The store, open for reading; a note says so if what is read is a snapshot."""
    from warehouse import Warehouse

    with Warehouse.open(store, read_only=True, wait=wait) as warehouse:
        if taken_at := warehouse.snapshot_time:
            age = max((datetime.now(UTC) - taken_at).total_seconds(), 0.0)
            write_note(
                f"note: answered from the snapshot of {taken_at:%Y-%m-%d %H:%M:%S}Z, which is "
                f"{age:,.0f} s old: {warehouse.damage or 'the store cannot be read now'}"
            )
        yield warehouse
