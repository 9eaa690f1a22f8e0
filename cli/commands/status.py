"""`tracehouse status`: the health of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracehouse.cli.errors import fail
from tracehouse.cli.options import DEFAULT_STORE, StorePath
from tracehouse.cli.output.options import OutputOptions
from tracehouse.cli.output.streams import write_note
from tracehouse.cli.remote import RemoteStore, ServiceChoice, chosen_service
from tracehouse.cli.stores import service_of
from tracehouse.queries.store_status import status_rows, status_table

if TYPE_CHECKING:
    import pyarrow as pa


def status(store: StorePath = DEFAULT_STORE, *, options: OutputOptions) -> None:
    """Show a store's health: its size, what waits, who writes it, and damage; changes nothing.

    'tracehouse ls' lists what is in it. A service that has the store open is asked, and reports on
    itself, too. While another process writes the store, its newest snapshot is counted. Exits 1 if
    the store cannot be read for another reason, or if its service can store nothing.
    """
    from tracehouse.warehouse.upkeep.forget import UNCOMPACTED
    from tracehouse.warehouse.upkeep.verification_record import REMEDY

    service = service_of(store)
    table = _ask(service) if service else None
    if table is None:
        from tracehouse.warehouse.opening.status import read_status

        table = status_table(read_status(store))
    options.write(status_rows(table) if options.format.is_for_people else table)
    (row,) = table.to_pylist()
    if row["is_uncompacted"]:
        write_note(f"note: {UNCOMPACTED}")
    if row["damaged_dumps"] or row["damaged_tables"]:
        write_note(f"note: some rows differ from the archive; to mend them, run '{REMEDY}'")
    if row["problem"]:
        place = service.url if service else store
        write_note(f"error: {place}: {row['problem']}")
        fail()
    if problem := row.get("service_problem"):
        write_note(f"error: {problem}")
        fail()


def _ask(service: ServiceChoice) -> pa.Table | None:
    """The status by a service; None if it is that of the store and does not answer.

    Raises:
        ServiceError: The service that the command line chose does not answer.
    """
    from tracehouse.ingest.errors import ServiceError

    try:
        with service.connect() as connection:
            return RemoteStore(connection).status()
    except ServiceError as error:
        if chosen_service():
            raise
        write_note(f"note: {error}; the store's files are read instead")
        return None
