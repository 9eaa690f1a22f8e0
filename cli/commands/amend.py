"""`tracehouse amend`: correct manifests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

import typer

from cli.errors import as_usage_errors
from cli.options import Dump, StoreOptions, Yes
from cli.output.streams import write_note
from cli.stores import open_to_write

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
    import pyarrow as pa

    from warehouse.upkeep.amend import amend_manifests, parse_corrections, plan_amendments
    from warehouse.upkeep.choice import check_choice, choose_dumps

    chosen_by = _parse(where or [])
    with as_usage_errors():
        corrections = parse_corrections(stated)
        check_choice(prefix=dump, where=chosen_by)
    with open_to_write(options.store, wait=options.wait) as warehouse:
        chosen = choose_dumps(warehouse.writing, prefix=dump, where=chosen_by)
        planned = plan_amendments(warehouse.writing, chosen, corrections)
        if is_meant:
            amend_manifests(warehouse.writing, options.store, planned)
    rows = (
        {"dump_id": one.dump.dump_id, "sha256": one.dump.sha256, "source": one.dump.source,
         "field": field, "old": old, "new": new}
        for one in planned
        for field, old, new in one.changes()
    )  # fmt: skip
    names = ("dump_id", "sha256", "source", "field", "old", "new")
    schema = pa.schema([(name, pa.string()) for name in names]).set(
        0, pa.field(names[0], pa.int32())
    )
    options.write_rows(rows, schema)
    if planned and not is_meant:
        write_note("note: nothing was changed; add --yes to correct these manifests")


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
