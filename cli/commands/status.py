"""`tracehouse status`: the state of a store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cli.exit_codes import fail
from cli.options import DEFAULT_STORE, CsvSafe, Output, Store
from cli.output.render import Format, write_table
from cli.output.status_report import status_rows, status_table
from cli.output.streams import write_note
from cli.remote.choice import ServiceChoice
from cli.stores import service_instead_of_store

if TYPE_CHECKING:
    import pyarrow as pa


def status(
    store: Store = DEFAULT_STORE,
    output: Output = Format.TABLE,
    is_csv_safe: CsvSafe = False,
) -> None:
    """Show a store's contents, waiting dumps and damage; changes nothing.

    While another process writes the store, its newest snapshot is counted. A service reports on
    itself, too. Exits 1 if the store cannot be read for another reason.
    """
    from warehouse.upkeep.forget import UNCOMPACTED

    service = service_instead_of_store()
    table = _read(store) if service is None else _ask(service)
    shown = status_rows(table) if output is Format.TABLE else table
    write_table(shown, output, is_csv_safe=is_csv_safe)
    (row,) = table.to_pylist()
    if row["is_uncompacted"]:
        write_note(f"note: {UNCOMPACTED}")
    if row["problem"]:
        write_note(f"error: {service.url if service else store}: {row['problem']}")
        fail()


def _read(store: Path) -> pa.Table:
    from warehouse.opening.status import read_status

    return status_table(read_status(store))


def _ask(service: ServiceChoice) -> pa.Table:
    from cli.remote.questions import RemoteStore

    with service.connect() as connection:
        return RemoteStore(connection).status()
