"""`tracehouse forget`: delete dumps for good."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cli.errors import as_usage_errors
from cli.options import Dump, StoreOptions, Yes
from cli.output.streams import write_note
from cli.stores import open_to_write

if TYPE_CHECKING:
    from warehouse import Warehouse
    from warehouse.upkeep.choice import ChosenDump


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
    from warehouse.upkeep.choice import check_choice
    from warehouse.upkeep.compact import is_compaction_wanted
    from warehouse.upkeep.forget import find_kept_files, finish_forgetting, forget_dumps

    stated = {"device": device, "build": build}
    where = {name: value for name, value in stated.items() if value is not None}
    with as_usage_errors():
        check_choice(prefix=dump, where=where)
    is_interrupted = is_meant and is_compaction_wanted(options.store)
    with open_to_write(options.store, wait=options.wait) as warehouse:
        chosen = _choose(warehouse, dump, where, is_interrupted=is_interrupted)
        if chosen and is_meant:
            forget_dumps(warehouse.writing, options.store, chosen)
    if is_meant:
        finish_forgetting(options.store, wait=options.wait)
    if chosen:
        rows = (one._asdict() for one in chosen)
        options.write_rows({name: row[name] for name in row if name != "manifest"} for row in rows)
    else:
        write_note("note: completed an interrupted 'tracehouse forget'; no such dump is left")
    if not is_meant:
        write_note("note: nothing was changed; add --yes to delete these dumps for good")
    for path in find_kept_files(options.store) if is_meant else ():
        write_note(
            f"note: {path}: an old file was kept, which may contain forgotten dumps; delete it"
        )


def _choose(
    warehouse: Warehouse,
    prefix: str | None,
    where: dict[str, str],
    *,
    is_interrupted: bool,
) -> list[ChosenDump]:
    """The chosen dumps; none if opening the store completed an interrupted forget.

    Raises:
        NoSuchDumpError: No dump matches, and no forget was interrupted.
    """
    from warehouse.errors import NoSuchDumpError
    from warehouse.upkeep.choice import choose_dumps

    try:
        return choose_dumps(warehouse.writing, prefix=prefix, where=where)
    except NoSuchDumpError:
        if is_interrupted:
            return []
        raise
