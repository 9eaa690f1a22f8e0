"""`tracehouse retention`: drop the raw events of old dumps."""

from __future__ import annotations

from typing import Annotated

import typer

from tracehouse.cli.options import StoreOptions, Yes, lake_address
from tracehouse.cli.upkeep.running import run_task
from tracehouse.cli.upkeep.tasks import Retention


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
    address = lake_address(lake)
    task = Retention(raw_days=raw_days, keep_builds=keep_builds, lake=address, yes=is_meant)
    options.write(run_task(task, options.store, wait=options.wait))
