"""`tracehouse upload PATHS...`: send dumps to a service."""

from __future__ import annotations

from typing import Annotated

import typer

from tracehouse.cli.manifest_options import MANIFEST, find_dumps
from tracehouse.cli.options import ETRECORD, KeepGoing, Layout, Paths, Quiet, add_options
from tracehouse.cli.output.options import OutputOptions
from tracehouse.cli.remote import TokenFile, Url, choose_service_of, chosen_service


def upload(
    paths: Paths,
    *,
    url: Url = None,
    token_file: TokenFile = None,
    layout: Layout = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, max=64, metavar="NUMBER", help="Connections; 4 by default.")
    ] = None,
    wait: Annotated[
        float,
        typer.Option(
            "--wait",
            min=0,
            metavar="SECONDS",
            help="How long to retry each dump while the service is unreachable or busy.",
        ),
    ] = 60.0,
    keep_going: KeepGoing = False,
    is_quiet: Quiet = False,
    options: OutputOptions,
    **more: str | None,
) -> None:
    """Send ETDumps to a service; accepted dumps are on the service's disk.

    The service skips dumps that it already has: after an interruption, send all of them again.
    Names, ETRecords and debug buffers are found as by 'tracehouse ingest'.

    Raises:
        BadParameter: No service is chosen.
    """
    choose_service_of(url, token_file)
    service = chosen_service()
    if service is None:
        raise typer.BadParameter("wanted the service's URL", param_hint="'--url'")
    from tracehouse.cli.handover.delivering import UploadOptions, upload_found

    found = find_dumps(paths, more, layout)
    upload_found(service, found, UploadOptions(jobs, wait, is_quiet, keep_going), options)


add_options(upload, (ETRECORD, *MANIFEST))
