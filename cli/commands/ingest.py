"""`tracehouse ingest PATHS...`: dumps into the store."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Annotated

import typer

from cli.errors import as_usage_errors
from cli.exit_codes import fail
from cli.files import etrecord_source
from cli.manifest_options import MANIFEST
from cli.options import (
    DEFAULT_STORE,
    CsvSafe,
    Layout,
    Output,
    Paths,
    Shared,
    Store,
    TextOption,
    Wait,
    add_options,
)
from cli.output.ingest_report import errors_of, summary_table, write_notes, write_refusals
from cli.output.render import Format, write_table
from cli.stores import hand_over_to_service, open_to_write, service_instead_of_store
from warehouse.errors import StoreLockedError

_ETRECORD = TextOption(
    "etrecord",
    "FILE",
    "ETRecord of all dumps given; by default NAME.etrecord beside each, or its folder's only one.",
)


def ingest(
    paths: Paths,
    *,
    layout: Layout = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="NUMBER",
            help="Threads that read; one per spare core by default.",
        ),
    ] = None,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Exit 0 even if files were refused.")
    ] = False,
    is_archived: Annotated[
        bool,
        typer.Option(
            "--archive/--no-archive",
            help="Keep the files' bytes in the store; without them, a damaged store can be made "
            "anew only from files that you keep yourself.",
        ),
    ] = True,
    has_snapshot: Annotated[
        bool,
        typer.Option(
            "--snapshot",
            help="Publish a snapshot at the end, and every minute or so until then: others read "
            "it while this process writes.",
        ),
    ] = False,
    is_quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Show neither progress nor notes, only refusals.")
    ] = False,
    is_trial: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Decode everything and show what would come in or be refused; write nothing.",
        ),
    ] = False,
    store: Store = DEFAULT_STORE,
    wait: Wait = 0.0,
    is_shared: Shared = False,
    output: Output = Format.TABLE,
    is_csv_safe: CsvSafe = False,
    **more: str | None,
) -> None:
    """Decode ETDumps into the store.

    What the store has already changes nothing.

    Options such as --device hold for all dumps given. Without them, names come from NAME.json
    beside NAME.etdp, manifest.json in its folder or above, --layout, or ExecuTorch's own
    benchmark_results.json; the first that states a field wins.

    Beside NAME.etdp, NAME.debug.bin is its debug buffer, and NAME.etrecord, or the only *.etrecord
    of the folder, the ETRecord of its program. If they come later, ingest the dump again.

    What was handed over to the store's inbox is taken first, see drain. Where a service keeps the
    store open, the dumps are handed over to it, which indexes them within seconds.

    Raises:
        BadParameter: A service is asked for what is a store's.
    """
    start = time.perf_counter()
    from cli.output.interrupt import interruptible_progress
    from cli.output.progress import progress_bar
    from ingest.incoming import FoundDumps
    from ingest.manifest.resolver import check_fields

    # Before the store is opened: a mistyped path must not leave an empty one.
    record = etrecord_source(more.pop("etrecord"))
    with as_usage_errors():
        check_fields("options", more)
        found = FoundDumps(paths, manifest=more, layout=layout, etrecord=record)
    if is_trial:
        from cli.handover.trial import try_ingest

        table, tried = try_ingest(store, found, jobs=jobs, is_quiet=is_quiet)
        write_table(table, output, is_csv_safe=is_csv_safe)
        if tried.refused and not keep_going:
            fail()
        return
    if service := service_instead_of_store():
        if not is_archived or has_snapshot or is_shared:
            raise typer.BadParameter(
                "--no-archive, --snapshot and --shared are for a store of this machine, not --url"
            )
        from cli.handover.uploading import UploadOptions, upload_found

        options = UploadOptions(jobs, wait, output, is_csv_safe, is_quiet, keep_going)
        upload_found(service, found, options)
        return
    try:
        with (
            open_to_write(store, create=True, wait=wait, is_shared=is_shared) as warehouse,
            progress_bar(is_quiet=is_quiet) as bar,
            interruptible_progress(bar) as progress,
        ):
            handed_over = warehouse.drain(jobs=jobs, progress=progress)
            summary = handed_over + warehouse.ingest(
                found, archive=is_archived, snapshot=has_snapshot, jobs=jobs, progress=progress
            )
    except StoreLockedError as error:
        summary = hand_over_to_service(store, found, error)
    summary = replace(summary, seconds=time.perf_counter() - start)
    write_table(summary_table(summary), output, is_csv_safe=is_csv_safe)
    write_refusals(summary.refused, remedy=errors_of(store))
    if not is_quiet:
        write_notes(summary)
    if summary.refused and not keep_going:
        fail()


add_options(ingest, (_ETRECORD, *MANIFEST))
