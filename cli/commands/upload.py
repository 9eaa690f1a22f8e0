"""`tracehouse upload PATHS...`: send dumps to a service."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.errors import as_usage_errors
from cli.files import etrecord_source
from cli.manifest_options import MANIFEST
from cli.options import ETRECORD, CsvSafe, KeepGoing, Layout, Output, Paths, Quiet, add_options
from cli.output.render import Format
from cli.remote.choice import TokenFile, Url, choose_service_of, chosen_service


def upload(
    paths: Paths,
    *,
    url: Url = None,
    token_file: TokenFile = None,
    layout: Layout = None,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, max=64, metavar="NUMBER", help="Connections; 4 by default."),
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
    output: Output = Format.TABLE,
    is_csv_safe: CsvSafe = False,
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
    from cli.handover.uploading import UploadOptions, upload_found
    from ingest.found_dumps import FoundDumps
    from ingest.manifest.resolver import check_fields

    record = etrecord_source(more.pop("etrecord"))
    with as_usage_errors():
        check_fields("options", more)
        found = FoundDumps(paths, manifest=more, layout=layout, etrecord=record)
    options = UploadOptions(jobs, wait, output, is_csv_safe, is_quiet, keep_going)
    upload_found(service, found, options)


add_options(upload, (ETRECORD, *MANIFEST))
