"""`tracehouse ingest PATHS...`: load dumps into the store."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracehouse.cli.errors import fail
from tracehouse.cli.manifest_options import MANIFEST, find_dumps
from tracehouse.cli.options import (
    ETRECORD,
    KeepGoing,
    Layout,
    Paths,
    Quiet,
    Shared,
    StoreOptions,
    add_options,
)
from tracehouse.cli.output.ingest_report import (
    errors_of,
    store_options,
    summary_row,
    write_arrivals,
    write_notes,
    write_passed_over,
    write_refusals,
)
from tracehouse.cli.stores import hand_over_to_service, open_to_write, service_instead_of_store
from tracehouse.warehouse.errors import StoreLockedError

if TYPE_CHECKING:
    from tracehouse.cli.output.store_contents import Arrivals
    from tracehouse.warehouse.store import Store


def ingest(
    paths: Paths,
    *,
    layout: Layout = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="NUMBER", help="Reader threads; by default one per spare core."
        ),
    ] = None,
    keep_going: KeepGoing = False,
    has_snapshot: Annotated[
        bool,
        typer.Option(
            "--snapshot",
            help="Publish a snapshot every minute or so and at the end, for readers while this "
            "process writes.",
        ),
    ] = False,
    is_quiet: Quiet = False,
    is_trial: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Decode everything and show what would be loaded or refused; write nothing.",
        ),
    ] = False,
    is_shared: Shared = False,
    options: StoreOptions,
    **more: str | None,
) -> None:
    """Load ETDumps into the store.

    Dumps that the store already has are skipped.

    Options such as --device apply to all dumps. Other fields come from NAME.json next to NAME.etdp,
    manifest.json in the same folder or above, --layout, or ExecuTorch's benchmark_results.json; the
    first of these that has a field wins.

    For a dump NAME.etdp, NAME.debug.bin is its debug buffer, and NAME.etrecord, or the
    only *.etrecord in the folder, is the ETRecord of its program. If these files come later, ingest
    the dump again.

    The store's inbox is loaded first, see 'tracehouse store drain'. If a service has the store
    open, the dumps are handed over to the service, which indexes them within seconds; with
    --snapshot, they are in a snapshot when the command ends.

    Raises:
        BadParameter: An option for local stores is used with a service.
    """
    start, began_at = time.perf_counter(), datetime.now(UTC)
    from tracehouse.cli.output.progress import interruptible_bar

    # Before the store is opened: a mistyped path must not create an empty store.
    found = find_dumps(paths, more, layout)
    store, wait = options.store, options.wait
    if is_trial:
        from tracehouse.cli.handover.trial import try_ingest

        table, tried = try_ingest(store, found, jobs=jobs, is_quiet=is_quiet)
        options.write(table)
        if tried.refused and not keep_going:
            fail()
        return
    if service := service_instead_of_store():
        if has_snapshot or is_shared:
            raise typer.BadParameter(
                "--snapshot and --shared are for local stores; leave out --url"
            )
        from tracehouse.cli.handover.delivering import UploadOptions, upload_found

        uploading = UploadOptions(jobs, wait, is_quiet, keep_going)
        upload_found(service, found, uploading, options)
        return
    try:
        with (
            open_to_write(store, create=True, wait=wait, is_shared=is_shared) as warehouse,
            interruptible_bar(is_quiet=is_quiet) as progress,
        ):
            handed_over = warehouse.drain(jobs=jobs, progress=progress)
            summary = handed_over + warehouse.ingest(
                found, snapshot=has_snapshot, jobs=jobs, progress=progress
            )
            arrivals = _find_arrivals(warehouse, since=began_at)
    except StoreLockedError as error:
        summary, arrivals = hand_over_to_service(store, found, error), None
        _have_published(store, wait, is_wanted=has_snapshot)
    summary = replace(summary, seconds=time.perf_counter() - start)
    options.write_rows([summary_row(summary, found.passed_over)])
    write_refusals(summary.refused, remedy=errors_of(store))
    if not is_quiet:
        write_passed_over(found.passed_over)
        write_notes(summary)
        write_arrivals(arrivals, store_options(store))
    if summary.refused and not keep_going:
        fail()


def _find_arrivals(warehouse: Store, *, since: datetime) -> Arrivals | None:
    """What came in since a time, for people at a terminal."""
    from tracehouse.cli.output.store_contents import find_arrivals

    return find_arrivals(warehouse.query("coverage"), since=since) if sys.stderr.isatty() else None


def _have_published(store: Path, wait: float, *, is_wanted: bool) -> None:
    """Have the service of a store publish a snapshot that has all dumps which were handed over."""
    if not is_wanted:
        return
    from tracehouse.cli.upkeep.task import run_task
    from tracehouse.cli.upkeep.tasks import TakeSnapshot
    from tracehouse.warehouse.inbox.inbox import find_service

    if find_service(store):  # 'tracehouse watch' publishes its own
        run_task(TakeSnapshot(), store, wait=wait)


add_options(ingest, (ETRECORD, *MANIFEST))
