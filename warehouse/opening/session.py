"""What a `Store` has open of its directory, and for how long."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tracehouse.warehouse.engine.failed_checkpoints import may_be_torn, read_failures
from tracehouse.warehouse.engine.store_connections import StoreConnections
from tracehouse.warehouse.engine.store_file import FILE_NAME
from tracehouse.warehouse.engine.writer import Writer
from tracehouse.warehouse.errors import DamagedStoreError, FailedCheckpointError, StoreError
from tracehouse.warehouse.opening.doors import (
    NO_STORE,
    OpenedStore,
    errors_while_open,
    store_exists,
)

if TYPE_CHECKING:
    import duckdb

    from tracehouse.warehouse.load.children import DecodingChildren
    from tracehouse.warehouse.load.stored_dumps import StoredDumps

Progress = Callable[..., None]
Reader = Callable[[], OpenedStore]
WriterOpener = Callable[[], tuple[OpenedStore, Writer]]


class Session:
    """The open files of a store: none, those of a reader, or those of the writer.

    A call opens what it needs. If the session is not held, the last call that ends closes it
    again, so a store that nobody asks locks nobody out.

    Attributes:
        path: The store's directory.
        writer: Writes the store; None before the first write.
        is_held: Whether the files stay open until the session is closed.
        is_patient: Whether a failed checkpoint is left to who calls `recover`.
        seconds: How long a query may take; None without a limit.
    """

    def __init__(
        self,
        path: Path,
        read: Reader,
        write: WriterOpener | None = None,
        *,
        is_created: bool = False,
    ) -> None:
        """Open nothing yet.

        Args:
            path: The store's directory.
            read: Opens the store for reading.
            write: Opens the store for writing; None if nothing may be written.
            is_created: Whether a missing store is created, at the latest when this is closed.
        """
        self.path, self._read, self._write, self._is_created = path, read, write, is_created
        self.writer: Writer | None = None
        self.is_held = self.is_patient = self._is_closed = False
        self.seconds: float | None = None
        self._opened: OpenedStore | None = None
        self._last: OpenedStore | None = None
        self._n_calls = self._n_answers = 0
        self._changing = threading.RLock()
        self._process_id = 0
        self._children: DecodingChildren | None = None
        self._stored: StoredDumps | None = None

    @classmethod
    def holding(cls, path: Path, opened: OpenedStore, writer: Writer | None = None) -> Session:
        """A session of files that are open already, and stay so."""
        session = cls(path, lambda: opened)
        session._take(opened, writer)
        session.is_held = True
        return session

    @contextmanager
    def call(self, *, is_answer: bool = False) -> Iterator[None]:
        """Keep open what the body opens; if `is_answer`, nothing may be written meanwhile."""
        with ExitStack() as stack:
            with self._changing:
                self._n_calls += 1
                self._n_answers += is_answer
            stack.push(partial(self._end_call, is_answer))
            yield

    def _end_call(
        self, is_answer: bool, _: object, error: BaseException | None, __: object
    ) -> None:
        """End a call, whose error, if any, is passed on; the last one closes the files."""
        with self._changing:
            self._n_calls -= 1
            self._n_answers -= is_answer
            if not (self._n_calls or self.is_held):
                self._finish(error)

    @property
    def answering(self) -> StoreConnections:
        """Connections for queries; the store is opened for reading unless it is open.

        Raises:
            StoreError: The store cannot be read; see `open_readable`.
        """
        with self._changing:
            return self._require_open().answering

    @property
    def last_opened(self) -> OpenedStore:
        """What was opened last: a snapshot, or the store's own file.

        Raises:
            StoreError: The store cannot be read; see `open_readable`.
        """
        if self._last is None:
            with self.call():
                return self._require_open()
        return self._last

    def require_writer(self) -> Writer:
        """The writer; the store is opened for writing, and locked, unless it is.

        Raises:
            StoreError: The store was opened to be read, or cannot be written.
            StoreLockedError: Another process has the store open.
        """
        with self._changing:
            self._check()
            return self.writer or self._open_writer()

    def enter(self) -> None:
        """Keep files open until `close`; what only reads opens them at once, and reads one state.

        Raises:
            StoreError: The store cannot be read; see `open_readable`.
        """
        with self._changing:
            self.is_held = True
            if self._write is None:
                self._require_open()

    def describe(self) -> str:
        """What is open, in a few words."""
        if self._is_closed:
            return "closed"
        if self._opened is None:
            return "not open at the moment"
        if self.writer is not None:
            return "open for writing"
        snapshot = self._opened.snapshot
        return f"open for reading, {snapshot.describe()}" if snapshot else "open for reading"

    def interrupt(self) -> None:
        """Stop the running statements, from another thread."""
        if opened := self._opened:
            opened.answering.interrupt()

    @property
    def children(self) -> DecodingChildren:
        """Processes that decode what others sent, until the files are closed."""
        if self._children is None:
            from tracehouse.warehouse.load import children

            self._children = children.DecodingChildren()
        return self._children

    def stored_dumps(self) -> StoredDumps:
        """The index of the store's dumps, which is read once while the files are open.

        StoreError is raised if the store was opened to be read.
        """
        from tracehouse.warehouse.load.stored_dumps import StoredDumps

        if self._stored is None:
            self._stored = StoredDumps(self.require_writer().connection)
        return self._stored

    def recover(self, alone: AbstractContextManager[None], progress: Progress | None) -> None:
        """Bring the store up to date with its archive; see `Store.recover`."""
        from tracehouse.warehouse.opening.doors import catch_up

        with errors_while_open(self.path, self.path / FILE_NAME):
            if read_failures(self.path).is_rebuild_wanted:
                with alone:
                    self._move(lambda: self._rebuild(progress))
            elif not self.require_writer().is_usable():
                with alone:
                    self._move(lambda: self._reopen_torn(progress))
            self.require_writer().settle()
            catch_up(self.require_writer().connection, self.path)

    def reopen(self) -> None:
        """Open the store's file again, which may be another one now.

        Raises:
            StoreError: The file cannot be opened.
            DamagedStoreError: The file is damaged or gone, and an archive exists.
        """
        self._move(self._reopen)

    def close(self, error: object = None) -> None:
        """Close the files for good.

        After an error, which is more informative than that of a failed close, nothing is written.

        Raises:
            StoreError: See `Store.close`.
            FailedCheckpointError: See `Store.close`.
        """
        with self._changing:
            if self._is_forked():
                return
            if error is None and self._is_missing():
                self._open_writer()
            try:
                self._finish(error)
            finally:
                self._is_closed = True

    def _check(self) -> None:
        """Check that this process may use the files.

        Raises:
            StoreError: It closed them, or a process that it was forked from opened them.
        """
        if self._is_closed:
            raise StoreError(str(self.path), "was closed; open it again")
        if self._is_forked():
            problem = f"opened by process {self._process_id}, from which this one was forked"
            raise StoreError(str(self.path), f"{problem}; open it here again")
        if not self._n_calls:  # who takes something outside of a call has no end to announce
            self.is_held = True

    def _is_forked(self) -> bool:
        return self._opened is not None and self._process_id != os.getpid()

    def _is_missing(self) -> bool:
        """Whether the store is yet to be created."""
        return self._is_created and self._opened is None and not store_exists(self.path)

    def _require_open(self) -> OpenedStore:
        self._check()
        if self._opened is None and self._is_missing():
            self._open_writer()
        return self._opened or self._take(self._read(), None)

    def _open_writer(self) -> Writer:
        """Open the store for writing, which a reader cannot become.

        Raises:
            StoreError: Nothing may be written, or somebody reads.
            StoreLockedError: Another process has the store open.
        """
        if self._write is None:
            raise StoreError(str(self.path), "opened to be read; open it without read_only")
        if self._n_answers and self._opened is not None:
            problem = "an answer is still being read; the store can be written after it"
            raise StoreError(str(self.path), problem)
        self._release()
        opened, writer = self._write()
        self._take(opened, writer)
        return writer

    def _take(self, opened: OpenedStore, writer: Writer | None) -> OpenedStore:
        self._opened = self._last = opened
        self.writer, self._process_id = writer, os.getpid()
        return opened

    def _finish(self, error: object) -> None:
        """Close the files, after a checkpoint unless the body failed.

        Raises:
            StoreError: See `Store.close`.
            FailedCheckpointError: The store is opened patiently, and a checkpoint failed.
        """
        is_ours = self.writer is not None and not self.is_patient
        try:
            if error is None:
                self._checkpoint()
            elif is_ours and isinstance(error, FailedCheckpointError):
                self._rebuild_closed()
        finally:
            self._release()

    def _checkpoint(self) -> None:
        try:
            if self.writer is not None and self.writer.is_open and self.writer.is_settled:
                self.writer.checkpoint()
        except FailedCheckpointError:
            if self.is_patient:
                raise
            self._rebuild_closed()

    def _rebuild_closed(self) -> None:
        """Rebuild the store, whose lock is kept until then.

        Raises:
            StoreError: The store cannot be rebuilt.
        """
        from tracehouse.warehouse.opening.doors import rebuild_after_failure

        self._close_connections()
        rebuild_after_failure(self.path)

    def _close_connections(self) -> None:
        if self._children is not None:
            self._children.close()
        if self._stored is not None:
            self._stored.close()
        if self._opened is not None:
            self._opened.answering.close()
        if self.writer is not None:
            self.writer.close()

    def _release(self) -> None:
        self._close_connections()
        if self._opened is not None and self._opened.lock is not None:
            self._opened.lock.release()
        self._children = self._stored = self._opened = self.writer = None

    def _move(self, reopen: Callable[[], duckdb.DuckDBPyConnection]) -> None:
        """Use the connection that a function opens instead of the writer's."""
        if self._stored is None:
            reopen()
        else:
            self._stored.move(reopen)

    def _reopen_torn(self, progress: Progress | None) -> duckdb.DuckDBPyConnection:
        """Open the store's file again, or rebuild it if a checkpoint left it damaged.

        Raises:
            StoreError: The file cannot be opened or rebuilt.
            DamagedStoreError: The file is damaged or gone for another reason.
        """
        try:
            return self._reopen()
        except DamagedStoreError:
            if not may_be_torn(self.path):
                raise
            return self._rebuild(progress)

    def _rebuild(self, progress: Progress | None) -> duckdb.DuckDBPyConnection:
        """Rebuild the store, and open its new file; returns its connection.

        Raises:
            StoreError: The store cannot be rebuilt or opened.
        """
        from tracehouse.warehouse.opening.doors import rebuild_after_failure

        self.answering.close()
        self.require_writer().close()
        rebuild_after_failure(self.path, progress)
        return self._reopen()

    def _reopen(self) -> duckdb.DuckDBPyConnection:
        """Open the file again; returns the connection that writes.

        Raises:
            StoreError: The file cannot be opened.
        """
        if not store_exists(self.path):
            raise StoreError(str(self.path), NO_STORE)
        is_shared = bool(self.path.stat().st_mode & 0o077)
        opened = self._require_open()
        opened.answering.close()
        self.require_writer().close()
        writer = Writer(self.path, is_shared=is_shared, is_careful=True)
        answering = StoreConnections(self.path, self.path / FILE_NAME, writer=writer.connection)
        self._take(opened._replace(answering=answering), writer)
        return writer.connection
