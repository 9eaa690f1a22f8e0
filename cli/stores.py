"""Stores as commands open them: to write, or to read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from cli.output.streams import write_note

if TYPE_CHECKING:
    from ingest.incoming import FoundDumps
    from warehouse import Warehouse
    from warehouse.errors import StoreLockedError
    from warehouse.intake.pipeline import IngestSummary


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


def hand_over_instead(store: Path, found: FoundDumps, error: StoreLockedError) -> IngestSummary:
    """Give dumps to the service that keeps a store open, and say so; or fail as before.

    Raises:
        StoreLockedError: It is no service.
        StoreError: Its inbox cannot be written.
    """
    from warehouse.storage.serving import hand_over, is_served

    if not is_served(store):
        raise error
    summary = hand_over(store, found)
    count = summary.n_files - len(summary.refused)
    write_note(f"note: handed {count:,} dumps over to the service of {store}, which indexes them")
    return replace(summary, notes=tuple(found.notes))


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
