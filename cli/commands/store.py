"""`tracehouse store`: upkeep of a store and its archive."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracehouse.cli.errors import ExitCode, UsageError, as_usage_errors, fail
from tracehouse.cli.help import command_group
from tracehouse.cli.options import (
    DEFAULT_STORE,
    Dump,
    StoreOptions,
    StorePath,
    Wait,
    Yes,
    lake_address,
    parse_fields,
    parse_share_option,
    with_options,
)
from tracehouse.cli.output.ingest_report import errors_of, summary_row, write_notes, write_refusals
from tracehouse.cli.output.options import OutputOptions
from tracehouse.cli.output.output_file import standard_output_to
from tracehouse.cli.output.render import write_table_note
from tracehouse.cli.output.streams import output_errors, write_lines, write_note
from tracehouse.cli.remote import chosen_service
from tracehouse.cli.stores import lock_hint, open_to_write, service_instead_of_store
from tracehouse.cli.upkeep.task import run_task, write_rows
from tracehouse.cli.upkeep.tasks import Amend, Compact, Forget, Retention, TakeSnapshot, Verify
from tracehouse.warehouse.errors import StoreError

if TYPE_CHECKING:
    import pyarrow as pa

    from tracehouse.warehouse.archive.verification import SegmentCheck
    from tracehouse.warehouse.upkeep.rebuild import RebuildSummary

_BY_A_SERVICE = {"snapshot", "verify", "retention", "compact", "amend", "forget"}

app = command_group(
    "Verify, back up, correct, shrink or upgrade a store.",
)
archive = command_group(
    "Extract or check the original files that a store keeps in its archive.",
    short="Extract or check the original files that a store keeps.",
)


@app.callback()
def _refuse_service(context: typer.Context) -> None:
    """Check that a service can do what is asked of it.

    Raises:
        UsageError: The command only works with a local store, but a service is chosen.
    """
    command = context.invoked_subcommand
    if chosen_service() and command not in _BY_A_SERVICE:
        raise UsageError(
            f"'store {command}' works with a local store only: leave out --url and $TRACEHOUSE_URL"
        )


@app.command()
@with_options
def verify(
    sample: Annotated[
        str,
        typer.Option(metavar="SHARE", help="Verify this share of the dumps, from a random one on."),
    ] = "1%",
    is_all: Annotated[
        bool, typer.Option("--all", help="Verify all dumps, and the tables that they share.")
    ] = False,
    since: Annotated[
        str | None,
        typer.Option(metavar="DATE", help="Only dumps that were ingested then or later."),
    ] = None,
    *,
    lake: Annotated[
        str | None,
        typer.Option(metavar="URI", help="Compare all dumps of this lake with the store, too."),
    ] = None,
    options: StoreOptions,
) -> None:
    """Find rows of a store that are not what its archive says; exits 1 if there are any.

    The dumps of the archive are decoded and loaded again into a temporary folder, as by 'tracehouse
    store rebuild', and all their rows compared with the store. Lists the dumps and tables that
    differ. The store is only read, or its newest snapshot while another process writes it.
    """
    share = 1.0 if is_all else parse_share_option(sample, "--sample")
    with as_usage_errors():
        task = Verify(share=share, since=since, lake=lake_address(lake))
    if service_instead_of_store():
        found = run_task(task, options.store, wait=options.wait)
    else:
        found = _verify_here(task, options.store, wait=options.wait)
    if found.num_rows or not options.format.is_for_people:
        options.write(found)
    else:
        write_table_note(found)
    if found.num_rows:
        fail()


def _verify_here(task: Verify, store: Path, *, wait: float) -> pa.Table:
    from tracehouse.cli.output.progress import progress_bar
    from tracehouse.cli.upkeep.verifying import read_and_verify
    from tracehouse.ingest.producers import read_user_rules, use_user_rules
    from tracehouse.warehouse.opening.doors import open_readable

    use_user_rules(read_user_rules)
    with progress_bar(unit="parts", has_events=False) as progress, lock_hint(wait):
        done = read_and_verify(store, task.sample(), wait=wait, progress=progress)
    opened = open_readable(store, wait=wait)
    try:
        return task.report(done, task.find_wrong_dumps(opened.answering.connection("trusted")))
    finally:
        opened.release()


@app.command()
@with_options
def snapshot(
    keep: Annotated[
        int | None,
        typer.Option(min=1, metavar="NUMBER", help="Newest snapshots to keep; by default 3."),
    ] = None,
    *,
    options: StoreOptions,
) -> None:
    """Publish a snapshot, which other processes can read while one writes the store.

    A snapshot is a full, read-only copy of the store's DuckDB file in the store's folder snapshots.
    Older snapshots are deleted unless they are in use.
    """
    task = TakeSnapshot(keep=keep)
    options.write(run_task(task, options.store, wait=options.wait))


@app.command()
@with_options
def rebuild(
    is_forced: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Rebuild without the dumps that the archive lacks, or that cannot be loaded.",
        ),
    ] = False,
    *,
    options: StoreOptions,
) -> None:
    """Recreate the store's DuckDB file from its archive.

    The new file replaces the old one once it is complete. Each table is compared with the old
    file's, if that can be read; if they differ, the old file is kept next to the new one. For
    people, only tables that differ are listed; other formats have all.
    """
    done = _rebuild_here(options.store, is_forced=is_forced, wait=options.wait)
    shown = [one for one in done.tables if not (one.is_equal and options.format.is_for_people)]
    if shown:
        options.write_rows(table._asdict() for table in shown)
    else:
        row_count = sum(table.row_count for table in done.tables)
        write_lines([f"{done.n_dumps:,} dumps, {row_count:,} rows: all as before"])
    _fail_if_incomplete(done)


def _rebuild_here(store: Path, *, is_forced: bool = False, wait: float) -> RebuildSummary:
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


def _fail_if_incomplete(done: RebuildSummary) -> None:
    """End the command with an exit code if something of the archive was left out."""
    if done.damaged or done.lost:
        fail(ExitCode.UNLOADABLE if done.lost else ExitCode.FAILED)


@app.command()
def migrate(store: StorePath = DEFAULT_STORE, wait: Wait = 0.0) -> None:
    """Upgrade a store that an older version of tracehouse wrote; nothing in it is lost.

    The store is changed in place. All commands that write do this by themselves, and a service when
    it starts; commands that only read refuse such a store.
    """
    with open_to_write(store, wait=wait):
        return


@app.command()
@with_options
def compact(options: StoreOptions) -> None:
    """Return space that was freed in a store, for example by 'store retention', to the disk.

    Copies the DuckDB file without its free blocks, compares both table by table, and replaces the
    old file if the new one is smaller; until then the disk must hold both. Small segments of the
    archive are merged.
    """
    options.write(run_task(Compact(), options.store, wait=options.wait))


@app.command()
@with_options
def retention(
    raw_days: Annotated[
        int, typer.Option(min=0, metavar="DAYS", help="Drop raw events older than this.")
    ],
    keep_builds: Annotated[
        str | None,
        typer.Option(metavar="GLOB", help="Keep the raw events of these builds, e.g. 'v*'."),
    ] = None,
    is_meant: Yes = False,
    *,
    lake: Annotated[
        str | None,
        typer.Option(
            metavar="URI", help="Drop only events that this lake has (see 'export lake')."
        ),
    ] = None,
    options: StoreOptions,
) -> None:
    """Drop the raw events of old dumps; their statistics and the archive are kept.

    The age of a dump counts from its capture, or from its ingest if the capture time is unknown.
    Lists builds with the dumps and events to drop and the approximate space they take, which
    'tracehouse store compact' returns to the disk.
    """
    address = lake_address(lake)
    task = Retention(raw_days=raw_days, keep_builds=keep_builds, lake=address, yes=is_meant)
    options.write(run_task(task, options.store, wait=options.wait))


@app.command()
@with_options
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
    with as_usage_errors():
        task = Forget(device=device, build=build, dump=dump, yes=is_meant)
    write_rows(options, run_task(task, options.store, wait=options.wait))


@app.command()
@with_options
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
    with as_usage_errors():
        task = Amend(
            set=tuple(stated), where=parse_fields(where or [], "--where"), dump=dump, yes=is_meant
        )
    options.write(run_task(task, options.store, wait=options.wait))


@app.command()
@with_options
def drain(options: StoreOptions) -> None:
    """Load the dumps in a store's inbox into the store.

    Other programs add dumps to the inbox from Python, with `warehouse.Inbox`, while any process
    works with the store. Every ingest drains the inbox before it loads its own files. Dumps leave
    the inbox once they are committed; damaged ones are refused and kept in the store's folder
    inbox/damaged.

    Dumps are decoded in another process, with at most 2 GiB of memory plus 8 bytes per byte of
    dumps, and at most 30 s plus 4 s per MiB. A dump that needs more, or that crashes that process,
    is refused, and the others are loaded. If you trust the dump, extract it with 'tracehouse
    store archive get SHA256' and ingest the file: 'tracehouse ingest' has no such limits.
    """
    from tracehouse.cli.output.progress import interruptible_bar

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


_File = Annotated[
    str, typer.Argument(metavar="SHA256", help="SHA-256 of the file, or its first digits.")
]
_Target = Annotated[Path | None, typer.Option("--output", metavar="FILE", help="Write to FILE.")]


@archive.command()
def get(file: _File, *, output: _Target = None, store: StorePath = DEFAULT_STORE) -> None:
    """Extract a file as it was ingested: a dump, an ETRecord, a debug buffer or a refused file.

    Raises:
        BadParameter: The bytes would go to a terminal.
    """
    from tracehouse.warehouse.archive.archive import find_archived

    entry = find_archived(store, file)
    if output is None and sys.stdout.isatty():
        raise typer.BadParameter("the file is binary; use --output FILE", param_hint="'--output'")
    with standard_output_to(output), output_errors():
        sys.stdout.buffer.write(entry.data)
        sys.stdout.buffer.flush()


@archive.command("verify")
@with_options
def verify_archive(store: StorePath = DEFAULT_STORE, *, options: OutputOptions) -> None:
    """Read the whole archive and list damaged or missing parts; exits 1 if there are any."""
    import pyarrow as pa

    from tracehouse.warehouse.archive.verification import SegmentCheck

    found = _segments(store)
    columns = list(zip(*found, strict=True)) or [()] * len(SegmentCheck._fields)
    table = pa.table(dict(zip(SegmentCheck._fields, map(list, columns), strict=True)))
    options.write(table)
    if any(one.problem for one in found):
        fail()


def _segments(store: Path) -> list[SegmentCheck]:
    """The state of each segment.

    Raises:
        StoreError: There is no store.
    """
    from tracehouse.warehouse.archive import verification
    from tracehouse.warehouse.archive.archive import Archive
    from tracehouse.warehouse.engine.store_file import FILE_NAME
    from tracehouse.warehouse.opening.doors import NO_STORE

    found = verification.verify_archive(Archive(store), verification.indexed_segments(store))
    if not found and not (store / FILE_NAME).exists():
        raise StoreError(str(store), NO_STORE)
    return found


app.add_typer(archive, name="archive")
