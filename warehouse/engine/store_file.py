"""A store's DuckDB file: created atomically, and checked for replacement while open."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tracehouse.ingest.durable import rename, sync_path, write_all
from tracehouse.warehouse.errors import (
    DamagedStoreError,
    FullDiskError,
    StoreError,
    explain_failure,
    write_errors,
)

FILE_NAME = "warehouse.duckdb"
WAL_SUFFIX = ".wal"
ARCHIVE_FOLDER = "archive"
INBOX_FOLDER = "inbox"
SNAPSHOT_FOLDER = "snapshots"

HEADERS_BYTES = 3 * 4096  # DuckDB's headers; a shorter file has no rows
_MAGIC, _MAGIC_AT = b"DUCK", 8
_UNFINISHED, _SPILL = ".new", ".tmp"
_ELSEWHERE = "choose another place"
_CHECKPOINT_BYTES = 4 << 20  # of blocks that are partly filled


def make_folder(store: Path, *, is_shared: bool) -> None:
    """Create and sync the store's directory, for its owner only unless `is_shared`.

    Raises:
        StoreError: The directory cannot be created.
    """
    with write_errors(str(store), problem="cannot be created", remedy=_ELSEWHERE):
        made = [folder for folder in (store, *store.parents) if not folder.exists()]
        store.parent.mkdir(parents=True, exist_ok=True)
        store.mkdir(mode=0o777 if is_shared else 0o700, exist_ok=True)
        for folder in made:
            sync_path(folder.parent)


def has_store_file(store: Path) -> bool:
    """Whether the store has a file that may have content.

    A truncated DuckDB file that is too short for any content does not count.

    Raises:
        StoreError: Such a file has a write-ahead log, which may have content.
        DamagedStoreError: Such a file has a write-ahead log, and an archive exists.
    """
    file = store / FILE_NAME
    if not file.exists():
        return False
    if not file.is_file():
        raise StoreError(
            str(store), f"{FILE_NAME} is not a file; name another directory with --store"
        )
    if file.stat().st_size >= HEADERS_BYTES:
        return True
    start = file.read_bytes()
    if start.strip(b"\0") and start[_MAGIC_AT : _MAGIC_AT + len(_MAGIC)] != _MAGIC:
        return True  # another kind of file, which DuckDB reports
    log = log_of(file)
    if log.exists() and log.stat().st_size:
        if (store / ARCHIVE_FOLDER).is_dir():
            raise DamagedStoreError(str(store), f"{FILE_NAME} is truncated")
        raise StoreError(
            str(store),
            f"{FILE_NAME} is truncated, and has a write-ahead log; restore the file from a copy, "
            "or move both away and ingest again",
        )
    return False


def make_file(
    store: Path,
    build: Callable[[Path], None],
    *,
    is_shared: bool,
    only_below_bytes: int | None = None,
) -> None:
    """Create the store's file, which appears only when it is complete and on disk.

    Args:
        store: The store's directory; the caller prevents other writes.
        build: Creates a database at a path, and closes it.
        is_shared: Leave the file's permissions to the umask; otherwise only the owner has access.
        only_below_bytes: Keep the existing file unless the new one is smaller than this.

    Raises:
        StoreError: The file cannot be created, for example because the disk is full.
    """
    file = store / FILE_NAME
    unfinished = file.with_name(FILE_NAME + _UNFINISHED)
    try:
        with write_errors(str(store), problem="cannot be created", remedy=_ELSEWHERE):
            clear_unfinished(store)
            build(unfinished)
            if log_of(unfinished).exists():
                raise StoreError(str(store), "a new store cannot be written: is the disk full?")
            if only_below_bytes is not None and unfinished.stat().st_size >= only_below_bytes:
                return
            if not is_shared:
                unfinished.chmod(unfinished.stat().st_mode & 0o700)
            assert unfinished.stat().st_size >= HEADERS_BYTES, "a file without rows replaces none"
            sync_path(unfinished)
            rename(unfinished, file)
    finally:
        with suppress(OSError):  # what is left of a failure takes room; the next start tries again
            clear_unfinished(store)


def sync_names(store: Path) -> None:
    """Sync a store's directory: DuckDB syncs its log, but not the log's name.

    Raises:
        StoreError: Syncing failed.
    """
    with write_errors(str(store), problem="cannot be synced to disk"):
        sync_path(store)


def check_room(folder: Path, needed_bytes: int, *, kept: str = "committed data is safe") -> None:
    """Check that the disk has room for so many bytes; an OSError is passed on.

    Raises:
        FullDiskError: It has less.
    """
    disk = os.statvfs(folder)
    free = disk.f_bavail * disk.f_frsize
    if free < needed_bytes:
        cause = f"{needed_bytes:,} bytes are needed, and {free:,} are free"
        raise FullDiskError(str(folder), cause, kept=kept)


def check_room_to_checkpoint(store: Path, *, is_certain: bool = False) -> None:
    """Check that the log of a store may fit into its file; an OSError is passed on.

    After a checkpoint that failed, DuckDB refuses all statements. Rows often take much less room
    in the file than in the log, so a log may fit even if the disk has no room for all its bytes.

    Args:
        store: The store's directory.
        is_certain: Whether the log must fit in any case.

    Raises:
        FullDiskError: The disk has no room for it.
    """
    with suppress(FileNotFoundError):
        log_bytes = log_of(store / FILE_NAME).stat().st_size
        check_room(store, _CHECKPOINT_BYTES + (log_bytes if is_certain else 0))


def clear_unfinished(store: Path) -> None:
    """Delete the remains of an interrupted `make_file`.

    An OSError is passed on.
    """
    unfinished = store / f"{FILE_NAME}{_UNFINISHED}"
    for left in (unfinished, log_of(unfinished)):
        left.unlink(missing_ok=True)


def spill_of(file: Path) -> Path:
    """The folder for data of a writer that does not fit into its memory."""
    return file.with_name(f"{file.name}{_SPILL}")


def clear_spills(store: Path) -> None:
    """Delete the spilled data of killed writers; the caller prevents others.

    What cannot be deleted stays, and is tried again at the next opening.
    """
    for file in (store / FILE_NAME, store / f"{FILE_NAME}{_UNFINISHED}"):
        shutil.rmtree(spill_of(file), ignore_errors=True)


def log_of(file: Path) -> Path:
    """The write-ahead log of a database."""
    return file.with_name(file.name + WAL_SUFFIX)


class OpenFile:
    """The store's file as it was opened, even if another file has its name now.

    Attributes:
        descriptor: The file. Closing it releases all locks of this process on
            the file, including DuckDB's.
    """

    def __init__(self, store: Path) -> None:
        """Open the current file.

        Raises:
            StoreError: The file cannot be read.
        """
        self._store = store
        try:
            is_writable = os.access(store / FILE_NAME, os.W_OK)  # otherwise DuckDB reports it
            flags = os.O_RDWR if is_writable else os.O_RDONLY
            self.descriptor = os.open(store / FILE_NAME, flags | os.O_CLOEXEC)
        except OSError as error:
            raise StoreError(
                str(store), f"{FILE_NAME} cannot be read: {explain_failure(error)}"
            ) from error

    def check(self) -> None:
        """Check that the file still has its name.

        Raises:
            StoreError: The file was deleted or replaced.
            DamagedStoreError: The same, and an archive exists, which has everything.
        """
        if self.is_in_place():
            return
        problem = f"{FILE_NAME} was deleted or replaced while it was open"
        if (self._store / ARCHIVE_FOLDER).is_dir():
            raise DamagedStoreError(str(self._store), problem)
        raise StoreError(
            str(self._store), f"{problem}: data written since then is lost; ingest again"
        )

    def write_headers_anew(self) -> None:
        """Write DuckDB's headers to disk again, while DuckDB's lock keeps other programs out.

        If the last sync of a checkpoint failed, the headers may be in memory alone, and no later
        sync would write them. An OSError is passed on.
        """
        headers = os.pread(self.descriptor, HEADERS_BYTES, 0)
        assert len(headers) == HEADERS_BYTES
        write_all(self.descriptor, headers, 0)
        os.fsync(self.descriptor)

    def is_in_place(self) -> bool:
        """Whether the file still has its name."""
        try:
            return os.path.samestat(os.stat(self._store / FILE_NAME), os.fstat(self.descriptor))
        except OSError:
            return False

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self.descriptor)
