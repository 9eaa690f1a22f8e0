"""`tracehouse snapshot`: a copy of the store to read while the store is written."""

from __future__ import annotations

from typing import Annotated

import typer

from tracehouse.cli.options import StoreOptions
from tracehouse.cli.upkeep.running import run_task
from tracehouse.cli.upkeep.tasks import TakeSnapshot


def snapshot(
    keep: Annotated[
        int | None,
        typer.Option(min=1, metavar="NUMBER", help="Newest snapshots to keep; by default 3."),
    ] = None,
    *,
    options: StoreOptions,
) -> None:
    """Publish a snapshot, which other processes can read while one writes the store.

    A snapshot is a full, read-only copy of the store's DuckDB file in the store's folder snapshots.
    Older snapshots are deleted unless they are in use.
    """
    task = TakeSnapshot(keep=keep)
    options.write(run_task(task, options.store, wait=options.wait))
