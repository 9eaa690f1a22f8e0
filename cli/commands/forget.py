"""`tracehouse forget`: delete dumps for good."""

from __future__ import annotations

from typing import Annotated

import typer

from tracehouse.cli.errors import as_usage_errors
from tracehouse.cli.options import Dump, StoreOptions, Yes
from tracehouse.cli.upkeep.running import run_task, write_rows
from tracehouse.cli.upkeep.tasks import Forget


def forget(
    device: Annotated[
        str | None, typer.Option(metavar="NAME", help="Dumps of this device.")
    ] = None,
    build: Annotated[str | None, typer.Option(metavar="ID", help="Dumps of this build.")] = None,
    dump: Dump = None,
    is_meant: Yes = False,
    *,
    options: StoreOptions,
) -> None:
    """Delete dumps for good: from the store, its archive and its snapshots.

    Lists the dumps that match all given options. Their SHA-256, the time and the user are kept in
    the table forgotten_dumps. The same bytes can be ingested again later, as a new dump.
    """
    with as_usage_errors():
        task = Forget(device=device, build=build, dump=dump, yes=is_meant)
    write_rows(options, run_task(task, options.store, wait=options.wait))
