"""`tracehouse drain`: what was handed over to the inbox, into the store."""

from __future__ import annotations

from cli.exit_codes import fail
from cli.options import StoreOptions, with_store_options
from cli.output.ingest_report import errors_of, summary_table, write_notes, write_refusals
from cli.stores import open_to_write


@with_store_options
def drain(options: StoreOptions) -> None:
    """Take into the store what others handed over to its inbox.

    They do so from Python, with `warehouse.Inbox`, while any other process works with the store.
    Every ingest does the same before its own files. It is deleted from the inbox when it is
    committed; what is damaged there is refused and kept in the store's folder inbox/damaged.

    It is decoded in another process, which may take 2 GiB of memory and 8 bytes per byte, and 30 s
    and 4 s per MiB. What takes more, or what that process dies of, is refused, and everything else
    goes in. If it is honest, write it to a file with 'tracehouse archive get SHA256' and ingest
    that: 'tracehouse ingest' sets no such limit to its own files.
    """
    from cli.output.interrupt import interruptible_progress
    from cli.output.progress import progress_bar

    with (
        open_to_write(options.store, wait=options.wait) as warehouse,
        progress_bar() as bar,
        interruptible_progress(bar) as progress,
    ):
        summary = warehouse.drain(progress=progress)
    options.write(summary_table(summary))
    write_refusals(summary.refused, remedy=errors_of(options.store))
    write_notes(summary)
    if summary.refused:
        fail()
