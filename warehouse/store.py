"""A store: opening, ingesting, upkeep; what it answers is in `store_answers`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tracehouse.warehouse import DEFAULT_PATH
from tracehouse.warehouse.engine.connection import reading
from tracehouse.warehouse.engine.log_sum import delete_log_sum
from tracehouse.warehouse.engine.store_connections import StoreConnections
from tracehouse.warehouse.engine.store_file import FILE_NAME
from tracehouse.warehouse.errors import DamagedStoreError, FailedCheckpointError, StoreError
from tracehouse.warehouse.opening.doors import (
    NO_STORE,
    OpenedStore,
    errors_while_open,
    open_readable,
    open_snapshot,
    open_writable,
    store_exists,
    writing,
)
from tracehouse.warehouse.opening.session import Session
from tracehouse.warehouse.opening.snapshots import KEPT, Snapshot, publish_snapshot
from tracehouse.warehouse.store_answers import StoreAnswers, as_answer, as_call

if TYPE_CHECKING:
    import duckdb

    from tracehouse.ingest.dump import AnyPath, Dump, FoundDumps, Refusal
    from tracehouse.warehouse.lake.exporting import ExportProgress, ExportSummary
    from tracehouse.warehouse.load.children import DecodingChildren
    from tracehouse.warehouse.load.stored_dumps import StoredDumps
    from tracehouse.warehouse.load.summary import IngestProgress, IngestSummary
    from tracehouse.warehouse.upkeep.compact import CompactionResult
    from tracehouse.warehouse.upkeep.nights import JudgedNight


class Store(StoreAnswers):
    """A store. Use it as a context manager, or call `close`.

    Each call opens what it needs, and closes it when it ends. From the first call in a ``with``
    block to the end of the block, the store stays open, so calls are fast, and after the first one
    that writes the store is locked. A store that is open in no block locks nobody out.

    Attributes:
        kept_snapshots: Number of newest snapshots that `snapshot` keeps.
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.kept_snapshots = KEPT

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] = DEFAULT_PATH,
        *,
        read_only: bool = False,
        create: bool = False,
        wait: float = 0.0,
        lake: str | os.PathLike[str] | None = None,
    ) -> Self:
        """The store in a directory, for reading until something is written.

        While another process writes the store, or if the store is damaged or gone, its newest
        snapshot is read.

        Args:
            path: The store's directory.
            read_only: Refuse to write; a ``with`` block reads one state, that of its beginning.
            create: Create the store if missing; otherwise, a misspelt path is an error.
            wait: Seconds to wait for other processes that have the store open.
            lake: The lake that the store was exported to, from which a reader gets raw events that
                retention dropped from the store; implies `read_only`. LakeError is raised if the
                lake does not exist.

        Raises:
            StoreError: The store does not exist, or the directory is not one. Calls raise it, too,
                and these, which are kinds of it:
            StoreLockedError: Other processes have the store open (one may write it, or several may
                read it), and there is no snapshot to read.
            StoreVersionError: Another version of tracehouse wrote the store.
            DamagedStoreError: The store's file is damaged or gone, and an archive exists.
        """
        store = Path(path)
        with suppress(DamagedStoreError):  # a snapshot may be read
            if not (store_exists(store) or create):
                raise StoreError(str(store), NO_STORE)

        def read() -> OpenedStore:
            return _with_lake(store, open_readable(store, wait=wait), lake)

        write = partial(
            open_writable, store, create=create, is_shared=False, is_patient=False, wait=wait
        )
        can_write = not read_only and lake is None
        return cls(Session(store, read, write if can_write else None, is_created=create))

    @classmethod
    def open_to_write(
        cls,
        path: str | os.PathLike[str] = DEFAULT_PATH,
        *,
        create: bool = False,
        is_shared: bool = False,
        is_patient: bool = False,
        wait: float = 0.0,
    ) -> Self:
        """The store, locked at once until it is closed, migrated and up to date with its archive.

        Args:
            path: The store's directory.
            create: Create the store if missing.
            is_shared: Leave the permissions of a new store to the umask; by default only its owner
                has access.
            is_patient: Open a store that exists without writing to it: it takes as long as to read
                it, and works on a full disk. `recover` must be called before the first write, and
                after each failure; otherwise, a failed checkpoint is answered at once.
            wait: Seconds to wait for other processes that have the store open.

        Raises:
            StoreError: See `open`; the store cannot be written, too.
        """
        store = Path(path)
        opened, writer = open_writable(
            store, create=create, is_shared=is_shared, is_patient=is_patient, wait=wait
        )
        warehouse = cls(Session.holding(store, opened, writer))
        warehouse.is_patient = is_patient
        return warehouse

    @classmethod
    def open_snapshot(cls, path: str | os.PathLike[str] = DEFAULT_PATH) -> Self | None:
        """The newest snapshot of a store; None if no snapshot has the current schema.

        Raises:
            StoreError: The snapshot cannot be read.
        """
        opened = open_snapshot(Path(path))
        return cls(Session.holding(Path(path), opened)) if opened else None

    @classmethod
    def open_lake(cls, uri: str | os.PathLike[str]) -> Self:
        """Open a lake, which can be queried like a store; no store is needed.

        Answers are from the lake's current state; later writes have no effect.

        Args:
            uri: A folder, or a URI such as ``s3://bucket/lake``.

        Raises:
            LakeError: The lake does not exist, cannot be read, or is empty.
        """
        from tracehouse.warehouse.lake.connections import LakeConnections
        from tracehouse.warehouse.lake.place import Lake

        lake = Lake(uri)
        return cls(Session.holding(Path(lake.name), OpenedStore(LakeConnections(lake), None)))

    @property
    def is_patient(self) -> bool:
        """Whether a failed checkpoint is left to who calls `recover`; see `open_to_write`."""
        return self._session.is_patient

    @is_patient.setter
    def is_patient(self, value: bool) -> None:
        self._session.is_patient = value

    @as_call
    def ingest(  # noqa: PLR0913 - users call it with names
        self,
        dumps: AnyPath | Dump | Iterable[AnyPath] | FoundDumps | Sequence[Dump],
        *,
        manifest: Mapping[str, object] | None = None,
        layout: str | None = None,
        etrecord: AnyPath | None = None,
        snapshot: bool = False,
        jobs: int | None = None,
        progress: Callable[[IngestProgress], None] | None = None,
    ) -> IngestSummary:
        """Ingest dumps; dumps that the store already has change nothing.

        Args:
            dumps: A path or several: files, folders, zip artifacts, ``ZIP!MEMBER`` and globs, or
                sources; or dumps that were found before or created by `Dump.of_bytes`, which have
                their own manifest and ETRecord, so that manifest, layout and etrecord are ignored.
            manifest: Fields of all dumps, e.g. ``{"device": "pixel8"}``; they override manifest
                files.
            layout: Template of paths, e.g. ``{device}/{build}/{model}/*.etdp``.
            etrecord: ETRecord of all dumps; by default ``NAME.etrecord`` in each dump's folder, or
                the only ETRecord there.
            snapshot: Publish snapshots at intervals and at the end; see `snapshot`.
            jobs: Threads that read and decode; by default one less than the cores.
            progress: Called after each committed batch.

        Returns:
            A summary with the refused files and paths, which are also in the table ingest_errors.

        Raises:
            StoreError: A batch cannot be written (earlier batches are committed), or the store was
                opened to be read, or was deleted or replaced meanwhile.
        """
        # Readers need not wait half a second for these imports.
        from tracehouse.ingest.dump import FoundDumps, find_dumps
        from tracehouse.warehouse.archive.archive import Archive
        from tracehouse.warehouse.archive.rewriting import MANY_SEGMENTS, merge_segments
        from tracehouse.warehouse.load.pipeline import ingest_dumps

        start = time.perf_counter()
        found = find_dumps(dumps, manifest=manifest, layout=layout, etrecord=etrecord)
        kept = Archive(self._path)
        with writing(
            self._session.require_writer(), self._path, progress, is_published=snapshot
        ) as report:
            stored = self.stored_dumps()
            summary = ingest_dumps(stored, found, archive=kept, jobs=jobs, progress=report)
            merge_segments(kept, least=MANY_SEGMENTS)
        if snapshot:
            self.snapshot()
        notes = tuple(found.notes) if isinstance(found, FoundDumps) else ()
        return replace(summary, notes=notes, seconds=time.perf_counter() - start)

    @as_call
    def drain(
        self, *, jobs: int | None = None, progress: Callable[[IngestProgress], None] | None = None
    ) -> IngestSummary:
        """Ingest the dumps in the store's `Inbox`, and empty it.

        Dumps of the inbox are untrusted, so another process decodes them, which runs until the
        store is closed. A dump that takes too much memory or time there, or crashes the process,
        is refused; `ingest` has no such limits.

        Args:
            jobs: Threads that read and decode; by default one less than the cores.
            progress: Called after each committed batch.

        Returns:
            A summary, as for `ingest`.

        Raises:
            StoreError: A batch cannot be written; it stays in the inbox with all later ones.
        """
        from tracehouse.warehouse.inbox.drain import drain_inbox

        start = time.perf_counter()
        with writing(self._session.require_writer(), self._path, progress) as report:
            stored, children = self.stored_dumps(), self.children
            summary = drain_inbox(stored, self._path, children, jobs=jobs, progress=report)
        return replace(summary, seconds=time.perf_counter() - start)

    @property
    def children(self) -> DecodingChildren:
        """Processes that decode what others sent, until the store is closed."""
        return self._session.children

    @as_call
    def record_refusals(
        self, refusals: Sequence[Refusal], *, settled: Sequence[tuple[str, str]] = ()
    ) -> None:
        """Record refusals of files that nobody handed over, unless recorded already.

        Args:
            refusals: The refusals, which become rows of ingest_errors.
            settled: Sources and SHA-256s of files that agree with the store now, after a conflict.

        Raises:
            StoreError: The store cannot be written, or was opened to be read.
        """
        from tracehouse.warehouse.archive.archive import Archive
        from tracehouse.warehouse.load.loader import Loader

        with writing(self._session.require_writer(), self._path, None):
            loader = Loader(self.writing, Archive(self._path))
            loader.record(refusals)
            loader.settle_conflicts(settled)

    @as_call
    def snapshot(self, *, kept: int | None = None) -> Snapshot:
        """Publish a snapshot of the store, which other processes can read while this one writes.

        Args:
            kept: Number of newest snapshots to keep besides those in use, at least 1; by default
                `kept_snapshots`.

        Returns:
            Path, number and time of the snapshot.

        Raises:
            StoreError: The disk is full, or the store was opened to be read or was deleted or
                replaced meanwhile.
            FailedCheckpointError: A checkpoint failed, and the store was opened patiently.
        """
        kept = kept or self.kept_snapshots
        try:
            return publish_snapshot(self._session.require_writer(), self._path, kept=kept)
        except FailedCheckpointError:
            if self.is_patient:
                raise
            self.recover(nullcontext())
            return publish_snapshot(self._session.require_writer(), self._path, kept=kept)

    @as_call
    def compact(
        self,
        alone: AbstractContextManager[None],
        progress: Callable[[IngestProgress], None] | None = None,
    ) -> CompactionResult:
        """Compact this open store, which other threads read meanwhile; see `compact_store`.

        Args:
            alone: Context in which no reader of this store is open. The snapshot that is published
                before has the same rows.
            progress: Called before each table is copied; its errors end the compaction.

        Raises:
            StoreError: The copy differs, the disk is full, or the store was opened to be read.
        """
        from tracehouse.warehouse.upkeep.compact import clear_compaction_request, replace_file

        snapshot, file = self.snapshot(), self._session.require_writer().file
        with errors_while_open(self._path, self._path / FILE_NAME):
            delete_log_sum(self._path / FILE_NAME)
            try:
                done = replace_file(self._path, snapshot.path, progress)
            finally:  # the file may have been replaced before the failure
                if not file.is_in_place():
                    with alone:
                        self._session.reopen()
                    self._session.require_writer().settle()
            clear_compaction_request(self._path)
        return done

    @as_call
    def recover(
        self,
        alone: AbstractContextManager[None],
        progress: Callable[[IngestProgress], None] | None = None,
    ) -> None:
        """Bring this open store up to date with its archive, also after an error of the disk.

        DuckDB refuses all statements after some errors, so its file is opened again if necessary.
        While it cannot be written, it is read. After a checkpoint that failed, it is rebuilt.

        Args:
            alone: Context in which no reader of this store is open.
            progress: Called after each commit of a rebuild; its errors end it.

        Raises:
            StoreError: The disk still fails, or the store was opened to be read.
            DamagedStoreError: The file is damaged or gone, and an archive exists.
        """
        self._session.recover(alone, progress)

    @as_answer
    def export_lake(
        self,
        uri: str | os.PathLike[str],
        *,
        progress: Callable[[ExportProgress], None] | None = None,
    ) -> ExportSummary:
        """Update a lake from the current state of the store.

        Args:
            uri: A folder, or a URI such as ``s3://bucket/lake``; the lake is created if missing.
            progress: Called after each commit.

        Returns:
            A summary; data that the lake already has is not written again.

        Raises:
            LakeError: The lake cannot be read or written.
        """
        from tracehouse.warehouse.lake.connections import StoreWithLake
        from tracehouse.warehouse.lake.exporting import export_store
        from tracehouse.warehouse.lake.place import Lake

        lake = Lake(uri)
        lake.begin()
        answering, writer = self._session.answering, self._session.writer
        connection = writer.connection if writer else None
        with_lake = StoreWithLake(self._path, answering.file, lake, writer=connection)
        with closing(with_lake), errors_while_open(self._path, answering.file):
            connection = with_lake.connection("trusted")
            with reading(connection):
                return export_store(connection, lake, progress=progress)

    @as_call
    def decide(self, group_id: str, *, state: str, reason: str, user: str | None = None) -> None:
        """Record a decision about a group of alerts, as a row of group_decisions.

        Args:
            group_id: The group, as reports name it.
            state: acknowledged, accepted or reopened.
            reason: Why, in words.
            user: Who decides; by default the user of this process.

        Raises:
            StoreError: The store cannot be written, or was opened to be read.
            QueryError: The state does not exist.
        """
        from tracehouse.warehouse.upkeep.decide import decide_group

        decide_group(self.writing, self._path, group_id, state=state, reason=reason, user=user)

    @as_call
    def write_note(self, /, text: str, *, user: str | None = None, **point: Any) -> str:
        """Record a note on points, as a row of group_decisions; returns its id.

        Args:
            text: The note.
            user: Who writes; by default the user of this process.
            **point: build, and where the note is not on all: device, pool, model, backend,
                event_name, delegate_id, ordinal.

        Raises:
            StoreError: The store cannot be written, or was opened to be read.
            QueryError: The store has no dump with these points.
        """
        from tracehouse.warehouse.point import Point
        from tracehouse.warehouse.upkeep.decide import write_note

        return write_note(self.writing, self._path, Point(**point), text, user=user)

    @as_call
    def withdraw_note(self, note_id: str, *, user: str | None = None) -> None:
        """Withdraw a note, which no query shows from then on.

        Raises:
            StoreError: The store cannot be written, or was opened to be read.
            QueryError: The store has no such note.
        """
        from tracehouse.warehouse.upkeep.decide import withdraw_note

        withdraw_note(self.writing, self._path, note_id, user=user)

    @as_call
    def keep_night(self, night: JudgedNight) -> None:
        """Record the result of a night, as a row of judged_nights.

        Raises:
            StoreError: The store cannot be written, or was opened to be read.
        """
        from tracehouse.warehouse.upkeep.nights import keep_night

        keep_night(self.writing, self._path, night)

    def reader(self) -> Store:
        """A read-only view of this store for another thread, as of the last commit.

        Close the reader before this store.

        Raises:
            StoreError: This store was opened to be read; open another one instead.
        """
        answering = StoreConnections(self._path, self._session.answering.file, writer=self.writing)
        return Store(Session.holding(self._path, OpenedStore(answering, None)))

    @property
    def writing(self) -> duckdb.DuckDBPyConnection:
        """The connection that writes, for the functions of tracehouse.warehouse.upkeep.

        Raises:
            StoreError: The store was opened to be read.
        """
        return self._session.require_writer().connection

    def stored_dumps(self) -> StoredDumps:
        """The index of its dumps, which is read once.

        StoreError is raised if the store was opened to be read.
        """
        return self._session.stored_dumps()


def _with_lake(
    store: Path, opened: OpenedStore, lake: str | os.PathLike[str] | None
) -> OpenedStore:
    """The store with the raw events of a lake, if given."""
    if lake is None:
        return opened
    from tracehouse.warehouse.lake.connections import StoreWithLake
    from tracehouse.warehouse.lake.place import Lake

    try:
        answering = StoreWithLake(store, opened.answering.file, Lake(lake))
    except BaseException:  # an interrupt, too, must not leave the store locked
        opened.release()
        raise
    opened.answering.close()
    return opened._replace(answering=answering)
