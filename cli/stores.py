"""Stores as commands open them: to write, to read, or to query, which a service can do too."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tracehouse.cli.errors import UsageError
from tracehouse.cli.options import is_store_named
from tracehouse.cli.output.streams import write_note
from tracehouse.cli.remote import RemoteStore, ServiceChoice, chosen_service
from tracehouse.warehouse.errors import StoreError, StoreLockedError

if TYPE_CHECKING:
    from tracehouse.ingest.dump import FoundDumps
    from tracehouse.queries.report.content import Report
    from tracehouse.queries.report.settings import Settings
    from tracehouse.warehouse.load.summary import IngestSummary
    from tracehouse.warehouse.store import Store


@contextmanager
def open_to_write(
    store: Path, *, create: bool = False, wait: float | None = None, is_shared: bool = False
) -> Iterator[Store]:
    """The store, open for writing; unless shared, new files are readable by their owner only.

    `wait` is the value of the command's --wait, None if the command has no such option.
    """
    from tracehouse.ingest.producers import read_user_rules, use_user_rules, user_rules
    from tracehouse.warehouse.store import Store

    use_user_rules(read_user_rules)
    if create:  # a store that is not made if a rule is malformed
        user_rules()
    before = os.umask(0o077)  # DuckDB creates its log with the umask's permissions
    os.umask(before if is_shared else before | 0o077)
    try:
        with noting_rebuild(store):
            with lock_hint(wait):
                opened = Store.open_to_write(
                    store, create=create, wait=wait or 0, is_shared=is_shared
                )
            with opened as warehouse:
                yield warehouse
    finally:
        os.umask(before)


@contextmanager
def noting_rebuild(store: Path) -> Iterator[None]:
    """Print a note if the body rebuilds the store because of a failed checkpoint."""
    from tracehouse.warehouse.engine.failed_checkpoints import read_failures

    before = read_failures(store).rebuilt_at
    try:
        yield
    finally:
        failures = read_failures(store)
        if failures.rebuilt_at != before:
            omitted = failures.disabled_compression
            write_note(
                f"note: DuckDB's checkpoint failed ({failures.problem}), so {store} was rebuilt "
                f"from its archive{omitted and f' without {omitted}'}"
            )


@contextmanager
def lock_hint(wait: float | None) -> Iterator[None]:
    """Add a remedy that fits this command to the error that another process has the store open.

    Args:
        wait: The value of the command's --wait, None if the command has no such option.

    Raises:
        StoreLockedError: The body raised one.
    """
    try:
        yield
    except StoreLockedError as error:
        from tracehouse.warehouse.inbox.inbox import is_served

        again = "and run the command again"
        if is_served(Path(error.place)):
            keeper = "it is a service or 'tracehouse watch', which keeps the store open"
            remedy = f"{keeper}: stop it, {again}"
        elif wait is None:
            raise
        else:
            longer = "a longer " if wait else ""
            remedy = f"wait with {longer}--wait SECONDS, or stop that process, {again}"
        raise StoreLockedError(
            error.place, error.pid, meanwhile=error.meanwhile, remedy=remedy
        ) from error


def hand_over_to_service(store: Path, found: FoundDumps, error: StoreLockedError) -> IngestSummary:
    """Hand dumps over to the service that keeps the store open, and print a note.

    Raises:
        StoreLockedError: The process that has the store open is not a service.
        StoreError: The inbox cannot be written.
    """
    from tracehouse.warehouse.inbox.inbox import hand_over, is_served

    if not is_served(store):
        raise error
    summary = hand_over(store, found)
    count = summary.n_files - len(summary.refused)
    write_note(f"note: handed {count:,} dumps over to the service of {store}, which indexes them")
    return replace(summary, notes=tuple(found.notes))


@contextmanager
def open_to_read(
    store: Path, *, wait: float | None = None, lake: str | None = None
) -> Iterator[Store]:
    """The store, open for reading; a note says so if a snapshot is read instead.

    With a lake, the lake is opened; if --store is given too, the store is opened, and the lake only
    serves the raw events that the store dropped.

    Raises:
        UsageError: A service is chosen, but the command reads the store's files.
    """
    from tracehouse.warehouse.store import Store

    if chosen_service():
        raise UsageError("this needs a local store; leave out --url and $TRACEHOUSE_URL")

    if lake is not None and not is_store_named():
        with Store.open_lake(lake) as opened_lake:
            yield opened_lake
        return
    with ExitStack() as opened:
        with lock_hint(wait):
            reader = Store.open(store, read_only=True, wait=wait or 0, lake=lake)
            warehouse = opened.enter_context(reader)
        if taken_at := warehouse.snapshot_time:
            age = max((datetime.now(UTC) - taken_at).total_seconds(), 0.0)
            write_note(
                f"note: answered from the snapshot of {taken_at:%Y-%m-%d %H:%M:%S}Z, which is "
                f"{age:,.0f} s old: {warehouse.damage or 'another process has the store open'}"
            )
        yield warehouse


@contextmanager
def open_with_night(
    store: Path, head: str | None, settings: Settings, *, wait: float = 0.0, lake: str | None = None
) -> Iterator[tuple[Store, Report]]:
    """The store or lake, open for reading, and the nightly report of a build.

    If the report was made now, the store keeps it after the body, unless the store cannot be
    written then: the next report judges the night again.
    """
    from tracehouse.queries.report.nightly import nightly_report, read_night

    night = None
    with open_to_read(store, wait=wait, lake=lake) as warehouse:
        if lake is None:
            night = read_night(warehouse, settings, head)
        yield warehouse, night.report if night else nightly_report(warehouse, settings, head=head)
    if night is not None and not night.is_stored:
        with suppress(StoreError), open_to_write(store) as writable:
            writable.keep_night(night.packed())


@contextmanager
def open_to_query(
    store: Path, *, wait: float = 0.0, lake: str | None = None
) -> Iterator[Store | RemoteStore]:
    """The store, open for reading, or the service that is queried in its place."""
    service = service_instead_of_store(lake)
    if service is None:
        with open_to_read(store, wait=wait, lake=lake) as warehouse:
            yield warehouse
        return
    with service.connect(retry_seconds=wait) as connection:
        yield RemoteStore(connection)


def service_of(store: Path) -> ServiceChoice | None:
    """The service that the command line chose, or else the one that has the store open.

    A UsageError is passed on.
    """
    from tracehouse.warehouse.inbox.inbox import find_service

    if service := service_instead_of_store():
        return service
    found = find_service(store)
    return ServiceChoice(found.url, key=found.key) if found else None


def service_instead_of_store(lake: str | None = None) -> ServiceChoice | None:
    """The service that the command line chose, if any and if it names no lake.

    Raises:
        UsageError: The command line names a store, too.
    """
    service = chosen_service()
    if service and is_store_named():
        raise UsageError("wanted either --store or --url (or $TRACEHOUSE_URL), not both")
    return service if lake is None else None
