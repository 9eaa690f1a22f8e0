"""`tracehouse verify`: find rows that are not what was ingested."""

from __future__ import annotations

from typing import Annotated

import typer

from tracehouse.cli.errors import as_usage_errors
from tracehouse.cli.exit_codes import fail
from tracehouse.cli.options import StoreOptions, lake_address, parse_share_option
from tracehouse.cli.upkeep.running import run_task
from tracehouse.cli.upkeep.verify_task import Verify


def verify(
    sample: Annotated[
        str,
        typer.Option(metavar="SHARE", help="Verify this share of the dumps, from a random one on."),
    ] = "1%",
    is_all: Annotated[
        bool, typer.Option("--all", help="Verify all dumps, and the tables that they share.")
    ] = False,
    since: Annotated[
        str | None,
        typer.Option(metavar="DATE", help="Only dumps that were ingested then or later."),
    ] = None,
    *,
    lake: Annotated[
        str | None,
        typer.Option(metavar="URI", help="Compare all dumps of this lake with the digests, too."),
    ] = None,
    options: StoreOptions,
) -> None:
    """Find rows of a store that are not what was ingested; exits 1 if there are any.

    The rows of each dump are compared with the digest that was kept when they were written, and
    with the dump in the archive, which is decoded again. Lists the dumps and tables that disagree,
    and prints the command that mends them.
    """
    share = 1.0 if is_all else parse_share_option(sample, "--sample")
    with as_usage_errors():
        task = Verify(share=share, since=since, lake=lake_address(lake))
    found = run_task(task, options.store, wait=options.wait)
    options.write(found)
    if found.num_rows:
        fail()
