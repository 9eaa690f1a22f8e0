"""`tracehouse status`: the state of a store."""

from __future__ import annotations

from cli.exit_codes import fail
from cli.options import DEFAULT_STORE, Store
from cli.output.options import OutputOptions
from cli.output.render import Format
from cli.output.status_report import status_rows, status_table
from cli.output.streams import write_note
from cli.stores import service_instead_of_store


def status(store: Store = DEFAULT_STORE, *, options: OutputOptions) -> None:
    """Show a store's contents, waiting dumps and damage; changes nothing.

    While another process writes the store, its newest snapshot is counted. A service reports on
    itself, too. Exits 1 if the store cannot be read for another reason.
    """
    from warehouse.upkeep.forget import UNCOMPACTED

    if service := service_instead_of_store():
        from cli.remote.questions import RemoteStore

        with service.connect() as connection:
            table = RemoteStore(connection).status()
    else:
        from warehouse.opening.status import read_status

        table = status_table(read_status(store))
    options.write(status_rows(table) if options.format is Format.TABLE else table)
    (row,) = table.to_pylist()  # a service of an older release leaves columns out
    if row.get("is_uncompacted"):
        write_note(f"note: {UNCOMPACTED}")
    if row.get("damaged_dumps"):
        write_note("note: some dumps have wrong rows; 'tracehouse verify' names the remedy")
    if row["problem"]:
        write_note(f"error: {service.url if service else store}: {row['problem']}")
        fail()
