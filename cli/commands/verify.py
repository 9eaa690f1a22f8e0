"""`tracehouse verify`: find rows that are not what was ingested."""

from __future__ import annotations

from typing import Annotated

import typer

from tracehouse.cli.errors import UsageError, as_usage_errors
from tracehouse.cli.exit_codes import fail
from tracehouse.cli.options import StoreOptions, lake_address, parse_share_option
from tracehouse.cli.stores import service_instead_of_store
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
    is_drill: Annotated[
        bool,
        typer.Option(
            "--drill",
            help="Rebuild today's hundredth of the dumps in a scratch store, and compare it.",
        ),
    ] = False,
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

    With --drill, the store is only read, also beside a service: each day has other dumps, which
    are rebuilt from the archive into a temporary folder, and a hundred days have all.

    Raises:
        UsageError: A drill is wanted with options that it does not have.
    """
    if is_drill:
        if is_all or since or lake or service_instead_of_store():
            raise UsageError("--drill takes no --all, --since, --lake or --url")
        _drill(options)
        return
    share = 1.0 if is_all else parse_share_option(sample, "--sample")
    with as_usage_errors():
        task = Verify(share=share, since=since, lake=lake_address(lake))
    found = run_task(task, options.store, wait=options.wait)
    options.write(found)
    if found.num_rows:
        fail()


def _drill(options: StoreOptions) -> None:
    from datetime import UTC, datetime
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from tracehouse.cli.output.progress import progress_bar
    from tracehouse.cli.upkeep.drilling import run_drill
    from tracehouse.cli.upkeep.store_task import with_notes
    from tracehouse.cli.upkeep.verify_task import describe_drill

    night = datetime.now(UTC).date()
    with (
        TemporaryDirectory(prefix="tracehouse-drill-") as scratch,
        progress_bar(unit="parts", has_events=False) as progress,
    ):
        wait = options.wait
        done = run_drill(options.store, night, Path(scratch), wait=wait, progress=progress)
    options.write(with_notes(done.table(), describe_drill(done)))
    if done.damages:
        fail()
