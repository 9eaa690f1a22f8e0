"""`tracehouse amend`: correct manifests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

import typer

from cli.errors import as_usage_errors
from cli.options import Dump, StoreOptions, Yes
from cli.upkeep.running import run_task
from cli.upkeep.tasks import Amend

_NEXT_FIELD = re.compile(r",(?=[\w.]+=)")


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
        task = Amend(set=tuple(stated), where=_parse(where or []), dump=dump, yes=is_meant)
    options.write(run_task(task, options.store, wait=options.wait))


def _parse(where: Sequence[str]) -> dict[str, str]:
    """Fields by name.

    Raises:
        BadParameter: A part is not FIELD=VALUE.
    """
    parts = [part for text in where for part in _NEXT_FIELD.split(text)]
    wrong = [part for part in parts if "=" not in part]
    if wrong:
        raise typer.BadParameter(f"found '{wrong[0]}', wanted FIELD=VALUE", param_hint="'--where'")
    return dict(part.split("=", 1) for part in parts)
