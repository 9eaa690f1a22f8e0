"""The connection that writes a store, from opening to the closing checkpoint."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from pathlib import Path

import duckdb

from tracehouse.warehouse.engine.connection import open_writer, translated_errors, use_database
from tracehouse.warehouse.engine.failed_checkpoints import clear_torn, mark_torn
from tracehouse.warehouse.engine.log_sum import delete_log_sum, track_log
from tracehouse.warehouse.engine.migrations import check_version, migrate
from tracehouse.warehouse.engine.store_checks import (
    check_no_foreign_objects,
    check_tables,
    is_sealed,
    seal_file,
)
from tracehouse.warehouse.engine.store_file import (
    ARCHIVE_FOLDER,
    FILE_NAME,
    OpenFile,
    check_room_to_checkpoint,
    clear_spills,
    has_store_file,
    log_of,
    make_file,
    sync_names,
)
from tracehouse.warehouse.engine.view_rows import checkpoint
from tracehouse.warehouse.errors import DiskError, FullDiskError


class Writer:
    """The single writer of a store, whose lock the caller holds.

    Attributes:
        connection: The connection that writes.
        file: The store's file.
        is_settled: Whether all that is in the file and its log is on disk; see `settle`.
        is_open: Whether it was not closed yet.
    """

    def __init__(self, store: Path, *, is_shared: bool, is_careful: bool = False) -> None:
        """Open the store's file; a missing one is created, and an older one migrated.

        Args:
            store: The store's directory.
            is_shared: Leave the permissions of a new file to the umask.
            is_careful: Settle only with room for the whole log, as after a failure.

        Raises:
            StoreError: The file cannot be created or written, or is not a store.
            StoreVersionError: Another version wrote the store, and has no migration to this one.
        """
        self._store, self._is_careful = store, is_careful
        with translated_errors(store), ExitStack() as opened:
            is_new = not has_store_file(store)
            if is_new:
                make_file(store, _build, is_shared=is_shared)
            self.file = OpenFile(store)
            opened.callback(self.file.close)
            if (store / ARCHIVE_FOLDER).is_dir():  # which can replace a deleted log
                delete_log_sum(store / FILE_NAME)
            clear_spills(store)
            self.connection = open_writer(store / FILE_NAME)
            opened.callback(delete_log_sum, store / FILE_NAME)
            opened.callback(self.connection.close)
            track_log(self.connection, store / FILE_NAME)
            self.is_settled = is_new or is_sealed(store / FILE_NAME, self.file.descriptor)
            if is_new:
                use_database(self.connection)
            else:
                self._check_and_migrate(is_known=self.is_settled)
            self._opened, self.is_open = opened.pop_all(), True

    def _check_and_migrate(self, *, is_known: bool) -> None:
        """Check the store for foreign changes unless it is known, and migrate it.

        Raises:
            StoreError: The store contains foreign objects or other tables.
            StoreVersionError: Another version wrote the store, and has no migration to this one.
        """
        store = str(self._store)
        if not is_known:
            check_no_foreign_objects(self.connection, store)
        use_database(self.connection)
        check_version(self.connection, store)
        migrate(self.connection)
        if not is_known:
            check_tables(self.connection, store)

    def settle(self) -> None:
        """Write to disk again what a writer before may have left in memory alone.

        After a sync that failed, no later sync would write it; a checkpoint writes all rows of the
        log anew. Until then, nothing may be committed.

        Raises:
            StoreError: The disk is full or fails.
        """
        if self.is_settled:
            return
        with translated_errors(self._store):
            self.file.write_headers_anew()
            if log_of(self._store / FILE_NAME).exists():
                self._check_room()
                self.connection.execute("CHECKPOINT")
        clear_torn(self._store)
        self.is_settled, self._is_careful = True, False

    def is_usable(self) -> bool:
        """Whether DuckDB has the store's file, and works: after some failures it refuses to."""
        if not self.file.is_in_place():
            return False
        try:
            self.connection.execute("SELECT 1 FROM archive_segments LIMIT 1")
        except duckdb.Error:
            return False
        return True

    def checkpoint(self) -> None:
        """Write all commits into the file; a checkpoint of DuckDB's own would hide a failure.

        Raises:
            StoreError: The file was deleted or replaced.
            DiskError: The disk is full or fails.
        """
        assert self.is_open
        assert self.is_settled, "nothing is committed before what a writer left is on disk"
        self.file.check()
        try:
            with translated_errors(self._store):
                self._check_room()
                checkpoint(self.connection)
        except DiskError:  # also where it failed in a commit before the checkpoint itself
            mark_torn(self._store)
            raise
        clear_torn(self._store)
        # While DuckDB's lock keeps other programs out.
        seal_file(self._store / FILE_NAME, self.file.descriptor)
        sync_names(self._store)  # otherwise an old log could reappear after a power failure

    def _check_room(self) -> None:
        """Check that the disk may have room for a checkpoint.

        Raises:
            FullDiskError: It has none.
        """
        try:
            check_room_to_checkpoint(self._store, is_certain=self._is_careful)
        except FullDiskError:
            self._keep_log()
            raise

    def _keep_log(self) -> None:
        """Keep DuckDB from writing its log into the file when it is closed."""
        with suppress(duckdb.Error):  # after a fatal error; then it does not do so
            self.connection.execute("PRAGMA disable_checkpoint_on_shutdown")

    def close(self) -> None:
        """Close the connection, then the file: closing any descriptor ends DuckDB's lock."""
        if not self.is_settled:
            self._keep_log()
        self.is_open = False
        self._opened.close()


def _build(file: Path) -> None:
    connection = open_writer(file, is_new=True)
    try:
        use_database(connection)
        migrate(connection)
        checkpoint(connection)
    finally:
        connection.close()
