"""`tracehouse snapshot`: a copy of the store to read while the store is written."""

from __future__ import annotations

from cli.options import StoreOptions
from cli.stores import open_to_write


def snapshot(
    keep: Annotated[
        int,
        typer.Option(min=1, metavar="NUMBER", help="Snapshots to keep: the newest, this one too."),
    ] = KEPT,
    *,
    options: StoreOptions,
) -> None:
    """Publish a snapshot, which other processes can read while one writes the store.

    A snapshot is a full, read-only copy of the store's DuckDB file in the store's folder snapshots.
    Older snapshots are deleted unless they are in use.
    """
    with open_to_write(options.store, wait=options.wait) as warehouse:
        done = warehouse.snapshot(kept=keep)
    row = {"path": str(done.path), "taken_at": done.taken_at, "bytes": done.path.stat().st_size}
    options.write_rows([row])
