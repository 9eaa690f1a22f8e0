"""`tracehouse retention`: drop the raw events of old dumps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import StoreOptions, Yes
from cli.output.streams import write_note
from cli.stores import open_to_write

if TYPE_CHECKING:
    import pyarrow as pa


def retention(
    raw_days: Annotated[
        int, typer.Option(min=0, metavar="DAYS", help="Drop raw events older than this.")
    ],
    keep_builds: Annotated[
        str | None,
        typer.Option(metavar="GLOB", help="Keep the raw events of these builds, e.g. 'v*'."),
    ] = None,
    is_meant: Yes = False,
    *,
    lake: Annotated[
        str | None,
        typer.Option(
            metavar="URI", help="Drop only events that this lake has (see 'export lake')."
        ),
    ] = None,
    options: StoreOptions,
) -> None:
    """Drop the raw events of old dumps; their statistics and the archive are kept.

    The age of a dump counts from its capture, or from its ingest if the capture time is unknown.
    Lists builds with the dumps and events to drop and the approximate space they take, which
    'tracehouse compact' returns to the disk.
    """
    from warehouse.upkeep.retain import drop_old_events, find_old_events, sum_by_build

    with open_to_write(options.store, wait=options.wait) as warehouse:
        old = find_old_events(warehouse.writing, days=raw_days, kept_builds=keep_builds)
        if lake is not None:
            old = _find_in_lake(old, lake)
        if is_meant:
            drop_old_events(warehouse.writing, options.store, old)
    options.write(sum_by_build(old))
    if old.num_rows and not is_meant:
        write_note("note: nothing was changed; add --yes to drop these events")


def _find_in_lake(old: pa.Table, lake: str) -> pa.Table:
    """The dumps whose events are all in the lake."""
    import pyarrow as pa

    from warehouse.lake.place import Lake
    from warehouse.lake.verification import find_whole_dumps

    held = find_whole_dumps(Lake(lake), old["sha256"].to_pylist())
    if len(held) < old.num_rows:
        missing = old.num_rows - len(held)
        write_note(
            f"note: the lake lacks {missing:,} of the dumps; run 'tracehouse export lake' first"
        )
    return old.filter(pa.array([one in held for one in old["sha256"].to_pylist()], pa.bool_()))
