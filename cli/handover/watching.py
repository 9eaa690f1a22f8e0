"""New dumps of a watched place, handed over until the watch is stopped."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tracehouse.cli.handover.delivering import FAILED, DeliveryResult, Take, hand_over
from tracehouse.cli.output.ingest_report import errors_of, write_refusals
from tracehouse.cli.output.streams import write_note
from tracehouse.cli.stores import open_to_write
from tracehouse.ingest.dump import Dump, FoundDumps
from tracehouse.ingest.errors import IngestError, ManifestError, SourceError
from tracehouse.ingest.manifest.models import Manifest
from tracehouse.ingest.sources.file_names import is_zip
from tracehouse.ingest.sources.listing import FolderNames, describe_passed_over
from tracehouse.ingest.sources.places import Source
from tracehouse.ingest.watching.follower import Follower, WatchRound
from tracehouse.ingest.watching.places import CurrentNames, WatchedFile, WatchedPlace
from tracehouse.warehouse.consumer import Consumer
from tracehouse.warehouse.engine.store_file import INBOX_FOLDER
from tracehouse.warehouse.errors import StoreError, StoreLockedError
from tracehouse.warehouse.inbox.inbox import Inbox, is_served, mark_served
from tracehouse.warehouse.inbox.records import Delivery, pack_delivery
from tracehouse.warehouse.load.summary import IngestSummary

_BATCH_DUMPS = 500
_BATCH_SECONDS = 2.0
_SNAPSHOT_SECONDS = 60.0
_MOST_BYTES = 1 << 30  # waiting in the inbox
_PAUSE_SECONDS = 0.5
_LEFT = "dumps are left in its inbox for 'tracehouse store drain'"

_RETRY_SECONDS = 5.0
_RETRIED = {"manifest", "unreadable", FAILED}  # reasons that a later file or time may remove
_RECORD_EVERY = 500
_MOST_REMEMBERED = 10_000  # messages


@contextmanager
def open_inbox(store: Path) -> Iterator[InboxWriter]:
    """A writer to a store's inbox; when the body ends, its dumps are in the store.

    If another process has the store open, such as a service, loading is left to that process.

    Raises:
        StoreError: The store cannot be opened, or loading failed.
    """
    with ExitStack() as opened:
        try:
            warehouse = opened.enter_context(open_to_write(store, create=True))
        except StoreLockedError as error:
            who = "another process" if error.pid is None else f"process {error.pid}"
            if not is_served(store):
                write_note(f"note: {store}: {who} has the store open; {_LEFT}")
            yield InboxWriter(opened.enter_context(Inbox.open(store)), store)
            return
        consumer = ReportingConsumer(
            warehouse,
            store,
            batch_dumps=_BATCH_DUMPS,
            batch_seconds=_BATCH_SECONDS,
            snapshot_seconds=_SNAPSHOT_SECONDS,
        )
        inbox = opened.enter_context(Inbox.open(store))
        opened.enter_context(mark_served(store))
        with consumer:
            yield InboxWriter(inbox, store, consumer)
        if consumer.problem:
            raise consumer.problem


class ReportingConsumer(Consumer):
    """A consumer that prints what the store refuses."""

    def _take_in(self, summary: IngestSummary) -> None:
        super()._take_in(summary)
        write_refusals(summary.refused, remedy=errors_of(self._store))


class InboxWriter:
    """Adds dumps to a store's inbox, and waits while the inbox is too full.

    Attributes:
        consumer: Loads the inbox into the store; None if another process does so.
    """

    def __init__(self, inbox: Inbox, store: Path, consumer: Consumer | None = None) -> None:
        self._inbox, self._folder, self.consumer = inbox, store / INBOX_FOLDER, consumer

    def __call__(self, dumps: Sequence[Dump]) -> list[bool | SourceError]:
        """Add dumps; returns True for each, as it is not yet known whether it is new, or its fault.

        Raises:
            StoreError: The inbox did not accept them.
        """
        while _waiting_bytes(self._folder) > _MOST_BYTES:
            time.sleep(_PAUSE_SECONDS)
        packed = [_pack(one) for one in dumps]
        deliveries = [one for one in packed if isinstance(one, Delivery)]
        if deliveries:
            self._inbox.accept_all(deliveries)
        if self.consumer is not None:
            self.consumer.count_accepted(len(deliveries))
        return [one if isinstance(one, SourceError) else True for one in packed]


def _pack(dump: Dump) -> Delivery | SourceError:
    try:
        return pack_delivery(dump)
    except SourceError as error:
        return error


def _waiting_bytes(folder: Path) -> int:
    """Size of an inbox's logs, without those deleted meanwhile."""
    total = 0
    for path in folder.glob("*.log"):
        with suppress(OSError):
            total += path.stat().st_size
    return total


class WatchCounts(NamedTuple):
    """Counts of a watch's dumps so far: accepted, already known, refused."""

    taken: int = 0
    known: int = 0
    refused: int = 0


@dataclass(frozen=True)
class WatchOptions:
    """Options of a watch."""

    manifest: Mapping[str, object]
    layout: str | None
    etrecord: Source | None
    threads: int
    pause_seconds: float
    is_once: bool


class Watch:
    """Hands the files that a follower finds over to `take`."""

    def __init__(
        self, place: WatchedPlace, follower: Follower, take: Take, options: WatchOptions
    ) -> None:
        self._place, self._follower, self._take = place, follower, take
        self._options = options
        self._names = CurrentNames()
        self._printed: set[str] = set()
        self._trouble = ""  # message of the last failure, printed again after a success
        self._is_caught_up = False
        self.counts = WatchCounts()

    def run(self, stop: threading.Event) -> None:
        """Watch until `stop` is set, or until nothing is new if `is_once`.

        Raises:
            IngestError: `is_once`, and dumps cannot be submitted, or the place cannot be listed.
            StoreError: Likewise.
        """
        while not stop.is_set():
            found = self._follower.look()
            if self._options.is_once and found.problems:
                raise found.problems[0]
            for problem in found.problems:
                self._print_once(f"note: {problem}; will be retried")
            for kind, path in self._follower.passed_over.items():
                self._print_once(f"note: {path}: passed over, like all files {kind}")
            if found.ready:
                self._hand_over(found, stop)
            elif self._options.is_once and found.is_settled:
                return
            elif found.is_end or self._is_caught_up:
                stop.wait(self._options.pause_seconds)
                self._is_caught_up = not self._options.is_once

    def _hand_over(self, found: WatchRound, stop: threading.Event) -> None:
        """Hand over new files; files that fail are found again.

        Raises:
            IngestError: `is_once`, and dumps cannot be handed over.
            StoreError: Likewise.
        """
        try:
            with self._place.local_paths(found.dumps) as paths:
                self._hand_over_files(found, paths, stop)
        except (IngestError, StoreError) as error:
            if self._options.is_once:
                raise
            self._trouble = f"note: {error}; will be retried"
            self._print_once(self._trouble)
            self._follower.postpone(found.ready, _RETRY_SECONDS)
            stop.wait(_RETRY_SECONDS)
        else:
            self._printed.discard(self._trouble)

    def _hand_over_files(
        self, found: WatchRound, paths: Sequence[str], stop: threading.Event
    ) -> None:
        names = {
            path: self._place.restore_paths(Source(copy).name)
            for path, copy in zip(found.dumps, paths, strict=True)
        }
        left = {names.get(seen.path, seen.path): seen for seen in found.ready}
        done: list[WatchedFile] = []
        for group in hand_over(self._list_dumps(paths), self._take, threads=self._options.threads):
            for one in group:
                self._count(one)
                if one.refusal and one.refusal.reason in _RETRIED:
                    self._postpone(left, one.name)
                elif one.name in left:
                    done.append(left.pop(one.name))
            if len(done) >= _RECORD_EVERY:
                self._follower.take(done)
                done = []
            if stop.is_set():
                break
        else:
            done += left.values()  # zips and companions of dumps
        self._follower.take(done)

    def _postpone(self, left: dict[str, WatchedFile], name: str) -> None:
        """Offer a file, or the zip that contains a dump, again later."""
        file = next((file for file in left if name == file or name.startswith(f"{file}!")), None)
        if file is not None:
            self._follower.postpone([left.pop(file)], _RETRY_SECONDS)

    def _list_dumps(self, paths: Sequence[str]) -> Iterator[Dump]:
        """The dumps in these files, named as in the watched place; zips come last."""
        files = [path for path in paths if not is_zip(path)]
        self._names.begin(files)
        yield from self._find_dumps([Source(path) for path in files], self._names)
        for path in filter(is_zip, paths):
            try:
                yield from self._find_dumps([path], FolderNames())
            except SourceError as error:  # the zip is damaged, or has no dumps
                yield Dump.unreadable(error)

    def _find_dumps(self, files: Sequence[Source | str], names: FolderNames) -> Iterator[Dump]:
        options = self._options
        found = FoundDumps(
            files,
            manifest=options.manifest,
            layout=options.layout,
            etrecord=options.etrecord,
            names=names,
            tops=[self._place.local_root],
        )
        for incoming in found:
            manifest = partial(self._manifest, incoming.manifest)
            yield replace(
                incoming, name=self._place.restore_paths(incoming.name), manifest=manifest
            )
        notes = found.notes
        if found.passed_over:  # the file is a zip
            notes.append(f"{files[0]}: {describe_passed_over(found.passed_over)}")
        for note in notes:
            self._print_once(f"note: {self._place.restore_paths(note)}")

    def _manifest(self, manifest: Callable[[], Manifest]) -> Manifest:
        """A manifest, whose errors name paths of the watched place.

        Raises:
            ManifestError: The manifest is missing or malformed.
        """
        try:
            return manifest()
        except ManifestError as error:
            shown = self._place.restore_paths
            raise ManifestError(shown(error.source), shown(error.problem)) from error

    def _count(self, one: DeliveryResult) -> None:
        taken, known, refused = self.counts
        if one.refusal is None:
            self.counts = WatchCounts(taken + one.is_new, known + (not one.is_new), refused)
        elif self._print_once(
            f"refused: {one.refusal.source}: {one.refusal.detail} [{one.refusal.reason}]"
        ):
            self.counts = WatchCounts(taken, known, refused + 1)

    def _print_once(self, message: str) -> bool:
        """Print a message on standard error and return True, unless it was printed before."""
        if message in self._printed:
            return False
        if len(self._printed) >= _MOST_REMEMBERED:
            self._printed.clear()
        self._printed.add(message)
        write_note(message)
        return True
