"""`tracehouse amend`: correct manifests."""

from __future__ import annotations

from typing import Annotated

import typer

from tracehouse.cli.errors import as_usage_errors
from tracehouse.cli.options import Dump, StoreOptions, Yes, parse_fields
from tracehouse.cli.upkeep.running import run_task
from tracehouse.cli.upkeep.tasks import Amend


def amend(
    stated: Annotated[
        list[str],
        typer.Option(
            "--set",
            metavar="FIELD=VALUE",
            help="Correct value, e.g. build=b42, device.os=Linux, tags.lab=3; an empty value "
            "removes the field. May be repeated.",
        ),
    ],
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=VALUE,...",
            help="Dumps with these values now, e.g. device=pixel8,build=b1. May be repeated.",
        ),
    ] = None,
    dump: Dump = None,
    is_meant: Yes = False,
    *,
    options: StoreOptions,
) -> None:
    """Correct the manifests of dumps that were ingested with wrong ones.

    Lists each field that changes. If a file was refused as a conflict, ingest it again: once the
    manifests agree, it counts as a duplicate.
    """
    with as_usage_errors():
        task = Amend(
            set=tuple(stated), where=parse_fields(where or [], "--where"), dump=dump, yes=is_meant
        )
    options.write(run_task(task, options.store, wait=options.wait))
