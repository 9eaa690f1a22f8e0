"""`tracehouse status`: how a store is doing."""

from __future__ import annotations

from cli.exit_codes import fail
from cli.options import DEFAULT_STORE, CsvSafe, Output, Store
from cli.output.render import Format, write_table
from cli.output.status_report import status_rows, status_table
from cli.output.streams import write_note


def status(
    store: Store = DEFAULT_STORE,
    output: Output = Format.TABLE,
    is_csv_safe: CsvSafe = False,
) -> None:
    """Tell how much is in a store, what waits, and what is damaged; changes nothing.

    While another process writes the store, what is in it is counted in its newest snapshot. Exits 1
    if the store cannot be read for another reason.
    """
    from warehouse.storage.forgetting import UNCOMPACTED
    from warehouse.storage.status import read_status

    found = read_status(store)
    table = status_table(found)
    shown = status_rows(table) if output is Format.TABLE else table
    write_table(shown, output, is_csv_safe=is_csv_safe)
    if found.is_uncompacted:
        write_note(f"note: {UNCOMPACTED}")
    if found.problem:
        write_note(f"error: {store}: {found.problem}")
        fail()
