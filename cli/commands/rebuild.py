"""`tracehouse rebuild`: recreate the store's DuckDB file from its archive."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracehouse.cli.errors import UsageError, as_usage_errors
from tracehouse.cli.exit_codes import ExitCode, fail
from tracehouse.cli.options import StoreOptions
from tracehouse.cli.output.streams import write_note
from tracehouse.cli.stores import lock_hint, service_instead_of_store
from tracehouse.cli.upkeep.running import run_task
from tracehouse.cli.upkeep.tasks import RebuildDumps

if TYPE_CHECKING:
    from tracehouse.warehouse.upkeep.rebuild import RebuildSummary


def rebuild(
    is_forced: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Rebuild without the dumps that the archive lacks, or that cannot be loaded.",
        ),
    ] = False,
    dumps: Annotated[
        list[str] | None,
        typer.Option(
            "--dumps",
            metavar="SHA256",
            help="Rebuild only the rows of this dump, in place; the first digits are enough. May "
            "be repeated.",
        ),
    ] = None,
    *,
    options: StoreOptions,
) -> None:
    """Recreate the store's DuckDB file from its archive.

    The new file replaces the old one once it is complete. Each table is compared with the old
    file's, if that can be read; if they differ, the old file is kept next to the new one.

    With --dumps, the file stays, and each dump is listed with the tables that had other rows of it
    before. A service that has the store open can do that, but not replace the file.

    Raises:
        UsageError: A service is chosen, but no dumps.
    """
    if dumps:
        with as_usage_errors():
            task = RebuildDumps(dumps=tuple(dumps))
        options.write(run_task(task, options.store, wait=options.wait))
        return
    if service_instead_of_store():
        raise UsageError("a service rebuilds single dumps: add --dumps SHA256, or leave out --url")
    done = rebuild_here(options.store, is_forced=is_forced, wait=options.wait)
    options.write_rows(table._asdict() for table in done.tables)
    fail_if_incomplete(done)


def rebuild_here(store: Path, *, is_forced: bool = False, wait: float) -> RebuildSummary:
    """Rebuild a store in this process, and print what happened to old files."""
    from tracehouse.cli.output.progress import progress_bar
    from tracehouse.ingest.producers import read_user_rules, use_user_rules, user_rules
    from tracehouse.warehouse.upkeep.rebuild import rebuild_store

    use_user_rules(read_user_rules)
    user_rules()  # a malformed rule stops the command before it reads the store
    with progress_bar(unit="segments") as progress, lock_hint(wait):
        done = rebuild_store(store, is_forced=is_forced, wait=wait, progress=progress)
    if done.problem:
        write_note(f"note: the old file could not be read: {done.problem}")
    if done.kept:
        write_note(
            f"note: the old file is kept as {done.kept}; delete it when you no longer need it"
        )
    for path in done.damaged:
        write_note(f"note: {path}: a damaged segment of the archive was left out")
    for dump in done.lost:
        write_note(f"note: {dump}: this dump was left out; the archive keeps it")
    return done


def fail_if_incomplete(done: RebuildSummary) -> None:
    """End the command with an exit code if something of the archive was left out."""
    if done.damaged or done.lost:
        fail(ExitCode.UNLOADABLE if done.lost else ExitCode.FAILED)
