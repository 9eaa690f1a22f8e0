"""`tracehouse drain`: load the store's inbox into the store."""

from __future__ import annotations

from tracehouse.cli.exit_codes import fail
from tracehouse.cli.options import StoreOptions
from tracehouse.cli.output.ingest_report import errors_of, summary_row, write_notes, write_refusals
from tracehouse.cli.stores import open_to_write


def drain(options: StoreOptions) -> None:
    """Load the dumps in a store's inbox into the store.

    Other programs add dumps to the inbox from Python, with `warehouse.Inbox`, while any process
    works with the store. Every ingest drains the inbox before it loads its own files. Dumps leave
    the inbox once they are committed; damaged ones are refused and kept in the store's folder
    inbox/damaged.

    Dumps are decoded in another process, with at most 2 GiB of memory plus 8 bytes per byte of
    dumps, and at most 30 s plus 4 s per MiB. A dump that needs more, or that crashes that process,
    is refused, and the others are loaded. If you trust the dump, extract it with 'tracehouse
    archive get SHA256' and ingest the file: 'tracehouse ingest' has no such limits.
    """
    from tracehouse.cli.output.interrupt import interruptible_bar

    with (
        open_to_write(options.store, wait=options.wait) as warehouse,
        interruptible_bar() as progress,
    ):
        summary = warehouse.drain(progress=progress)
    options.write_rows([summary_row(summary)])
    write_refusals(summary.refused, remedy=errors_of(options.store))
    write_notes(summary)
    if summary.refused:
        fail()
