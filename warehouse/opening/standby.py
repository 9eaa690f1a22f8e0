"""A store that is only read until its file can be written, for example on a full disk."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import duckdb

from warehouse.engine.connection import open_writer, translated_errors, use_database
from warehouse.engine.store_file import FILE_NAME, check_room_to_checkpoint
from warehouse.engine.writer import Writer
from warehouse.errors import DiskError, FullDiskError, StoreError
from warehouse.opening.snapshots import hold_newest


class Standby:
    """The store's file, or else its newest snapshot, read in the place of a writer.

    Attributes:
        connection: The connection, for cursors.
        path: The file that is read.
        problem: Why the store cannot be written.
    """

    def __init__(self, store: Path, problem: StoreError) -> None:
        """Open the file to be read; the caller holds the store's lock.

        Raises:
            StoreError: The file cannot be read either, and there is no snapshot.
        """
        self._store, self.problem = store, problem
        with ExitStack() as opened:
            self.path = store / FILE_NAME
            try:
                self.connection = _open(store, self.path)
            except StoreError:
                held = hold_newest(store)
                if held is None:
                    raise problem from None
                opened.callback(held.release)
                self.path = held.snapshot.path
                self.connection = _open(store, self.path)
            opened.callback(self.connection.close)
            self._opened = opened.pop_all()

    def check_room(self) -> None:
        """Check that the file can be written now, if its disk was full; an OSError is passed on.

        Raises:
            FullDiskError: The disk is still full.
        """
        if isinstance(self.problem, FullDiskError):
            check_room_to_checkpoint(self._store, is_certain=True)

    def close(self) -> None:
        """Close the connection."""
        self._opened.close()


def open_or_stand_by(store: Path, *, is_shared: bool) -> Writer | Standby:
    """The writer of a store whose lock the caller holds; if its disk is full or fails, a stand-by.

    Raises:
        StoreError: As `Writer`; or the disk fails, and the store cannot be read either.
    """
    try:
        return Writer(store, is_shared=is_shared)
    except DiskError as error:
        return Standby(store, error)


def _open(store: Path, file: Path) -> duckdb.DuckDBPyConnection:
    with translated_errors(store, file):
        connection = open_writer(file, is_read_only=True)
        use_database(connection)
        return connection
