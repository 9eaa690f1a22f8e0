"""`tracehouse forget`: dumps deleted for good."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cli.errors import as_usage_errors
from cli.options import Dump, StoreOptions, Yes, with_store_options
from cli.output.streams import write_note
from cli.stores import open_to_write

if TYPE_CHECKING:
    from warehouse import Warehouse
    from warehouse.storage.choice import ChosenDump


@with_store_options
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

    Lists the dumps; those that are meant fulfil all that is stated. What is left of them is their
    SHA-256, the time and who did it, in the table forgotten_dumps. The same bytes may come in
    again later, as a new dump.
    """
    import pyarrow as pa

    from warehouse.storage.choice import check_choice
    from warehouse.storage.compaction import is_compaction_wanted
    from warehouse.storage.forgetting import find_kept_files, finish_forgetting, forget_dumps

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
        rows = pa.Table.from_pylist([one._asdict() for one in chosen])
        options.write(rows.drop_columns(["manifest"]))
    else:
        write_note("note: an interrupted 'tracehouse forget' is done now; no such dump is left")
    if not is_meant:
        write_note("note: nothing was changed; --yes deletes these dumps for good")
    for path in find_kept_files(options.store) if is_meant else ():
        write_note(f"note: {path}: was put aside, and may hold what was forgotten; delete it")


def _choose(
    warehouse: Warehouse,
    prefix: str | None,
    where: dict[str, str],
    *,
    is_interrupted: bool,
) -> list[ChosenDump]:
    """The dumps that are meant; none if opening the store ended a forget that was interrupted.

    Raises:
        NoSuchDumpError: There is none, and no forget was interrupted.
    """
    from warehouse.errors import NoSuchDumpError
    from warehouse.storage.choice import choose_dumps

    try:
        return choose_dumps(warehouse.writing, prefix=prefix, where=where)
    except NoSuchDumpError:
        if is_interrupted:
            return []
        raise
