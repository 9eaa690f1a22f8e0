"""`tracehouse watch PLACE`: ingest dumps as they appear in a folder or bucket."""

from __future__ import annotations

import signal
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracehouse.cli.errors import fail
from tracehouse.cli.files import etrecord_source
from tracehouse.cli.manifest_options import MANIFEST, check_manifest
from tracehouse.cli.options import DEFAULT_STORE, Layout, Once, StorePath, TextOption, add_options
from tracehouse.cli.output.streams import write_note
from tracehouse.cli.remote import TokenFile, Url, choose_service_of
from tracehouse.cli.stores import service_instead_of_store

if TYPE_CHECKING:
    from tracehouse.cli.handover.delivering import Take
    from tracehouse.cli.remote import ServiceChoice
    from tracehouse.ingest.watching.places import WatchedPlace

_ETRECORD = TextOption(
    "etrecord", "FILE", "ETRecord of all dumps; by default found as by 'tracehouse ingest'."
)
_RETRY_SECONDS = 5.0  # for one dump; after that, all new files are looked for again
_LOCAL_PAUSE_SECONDS, _BUCKET_PAUSE_SECONDS = 1.0, 10.0  # listing a bucket costs money


def watch(
    place: Annotated[
        str, typer.Argument(metavar="PLACE", help="A folder, or a URI such as s3://bucket/folder.")
    ],
    *,
    url: Url = None,
    token_file: TokenFile = None,
    store: StorePath = DEFAULT_STORE,
    layout: Layout = None,
    quiet_seconds: Annotated[
        float,
        typer.Option(
            min=0, metavar="SECONDS", help="Ingest a file once it has not changed for this long."
        ),
    ] = 2.0,
    jobs: Annotated[
        int, typer.Option(min=1, max=64, metavar="NUMBER", help="Dumps sent at a time.")
    ] = 8,
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Remember ingested files in FILE; with a local store, by default in the store.",
        ),
    ] = None,
    is_once: Once = False,
    **more: str | None,
) -> None:
    """Ingest dumps into a store, or send them to a service, as they appear.

    Runs until SIGTERM or Ctrl-C. A file is ingested once it has not changed for a while; names that
    begin with a dot and suffixes such as .tmp or .part are ignored. A refusal is reported once. The
    command can be stopped and restarted at any moment; no dump is lost or ingested twice. Names,
    ETRecords and debug buffers are found as by 'tracehouse ingest'; a dump is retried when they
    arrive late.
    """
    choose_service_of(url, token_file)
    service = service_instead_of_store()
    record = etrecord_source(more.pop("etrecord"))
    check_manifest(more)
    from tracehouse.cli.handover.watching import Watch, WatchOptions
    from tracehouse.ingest.watching.buckets import Bucket
    from tracehouse.ingest.watching.follower import Follower, Notices, WatchRecord
    from tracehouse.ingest.watching.places import LocalFolder

    is_local = "://" not in place
    watched: WatchedPlace = LocalFolder(place) if is_local else Bucket(place)
    pause = _LOCAL_PAUSE_SECONDS if is_local else _BUCKET_PAUSE_SECONDS
    options = WatchOptions(more, layout, record, jobs, pause, is_once)
    with ExitStack() as opened:
        take = _open_target(opened, service, store)
        taken = opened.enter_context(WatchRecord(state or _state(service, store, watched)))
        notices = opened.enter_context(Notices(is_on=is_local))
        follower = Follower(watched, taken, notices, quiet_seconds=quiet_seconds)
        running = Watch(watched, follower, take, options)
        running.run(stopped_by_signals())
    counts = running.counts
    refused = counts.refused + _refused_by_store(take)
    write_note(f"{counts.taken:,} accepted, {counts.known:,} known, {refused:,} refused")
    if is_once and refused:
        fail()


def _open_target(opened: ExitStack, service: ServiceChoice | None, store: Path) -> Take:
    if service is None:
        from tracehouse.cli.handover.watching import open_inbox

        return opened.enter_context(open_inbox(store))
    from tracehouse.cli.handover.delivering import service_uploader

    return opened.enter_context(service_uploader(service, retry_seconds=_RETRY_SECONDS))


def _refused_by_store(take: Take) -> int:
    """Dumps that the store refused after the hand-over; they are already reported."""
    from tracehouse.cli.handover.watching import InboxWriter

    consumer = take.consumer if isinstance(take, InboxWriter) else None
    return sum(consumer.refused.values()) if consumer else 0


def _state(service: ServiceChoice | None, store: Path, watched: WatchedPlace) -> Path | None:
    """The store's file of what was ingested from a place; None with a service."""
    if service is not None:
        return None
    import hashlib

    name = hashlib.sha256(watched.name.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return store / "watched" / f"{name}.taken"


def stopped_by_signals() -> threading.Event:
    """An event that SIGTERM and Ctrl-C set."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    return stop


add_options(watch, (_ETRECORD, *MANIFEST))
