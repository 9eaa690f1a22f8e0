"""Writing files that survive a crash (write a temporary file, sync, rename), and file locks."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def sync_path(path: Path) -> None:
    """Sync a file, or the names in a folder, to disk.

    Raises:
        OSError: The disk fails; the error names the path.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        error.filename = str(path)
        raise
    finally:
        os.close(descriptor)


def sync_data(file: int) -> None:
    """Sync the content of an open file to disk; an OSError is passed on."""
    getattr(os, "fdatasync", os.fsync)(file)  # not every system has the cheaper call


def rename(old: Path, new: Path) -> Path:
    """Rename a file, replacing any file at the new path, and sync its folder; returns the new path.

    An OSError is passed on.
    """
    old.replace(new)
    sync_path(new.parent)
    return new


@contextmanager
def replacing(path: Path, mode: int = 0o666, *, is_folder_synced: bool = True) -> Iterator[Path]:
    """An empty temporary file that replaces `path` when the body ends.

    The file is synced before it is renamed, so readers see the old content or the whole new one.
    If the body fails, the path stays as it was. The next write of the path deletes what a
    killed one left. An OSError is passed on.

    Args:
        path: The file to replace or to create.
        mode: Permissions of the new file, less the umask.
        is_folder_synced: Sync the folder too; else the caller does it, once for many files.
    """
    temporary, file = _create_temporary(path, mode)
    try:
        try:
            yield temporary
            sync_path(temporary)
            temporary.replace(path)
        except BaseException:  # an interrupt too; after the rename the name may be another writer's
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
        if is_folder_synced:
            sync_path(path.parent)
    finally:
        os.close(file)


def _create_temporary(path: Path, mode: int) -> tuple[Path, int]:
    """A new temporary file in the folder of a path, and its descriptor, which is locked.

    Its name is always the same unless another writer uses that: so the leftover of a killed
    writer is found and deleted without a list of the folder.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    while True:
        try:
            file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        except FileExistsError:
            if not delete_leftover(temporary):
                temporary = path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")
            continue
        with suppress(OSError):  # the file system may have no locks
            lock(file)
        if os.fstat(file).st_nlink:  # nobody took it for a leftover before it was locked
            return temporary, file
        os.close(file)


def delete_leftover(path: Path) -> bool:
    """Delete the temporary file of a killed writer; True if the name is free now.

    A file that a running writer has locked stays, and so does one that cannot be deleted.
    """
    try:
        file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return not os.path.lexists(path)
    try:
        if not try_lock(file):
            return False
        if os.path.samestat(os.fstat(file), path.lstat()):
            path.unlink()
    except OSError:
        return not os.path.lexists(path)
    finally:
        os.close(file)
    return True


def write_all(file: int, data: bytes | bytearray | memoryview, offset: int | None = None) -> None:
    """Write all of the data to an open file, at an offset or where its last write ended.

    An OSError is passed on.
    """
    written = 0
    while written < len(data):
        with memoryview(data) as view:
            rest = view[written:]
            if offset is None:
                written += os.write(file, rest)
            else:
                written += os.pwrite(file, rest, offset + written)


def lock(file: int, *, is_shared: bool = False) -> None:
    """Wait for the lock of an open file, which `unlock` or closing the file releases."""
    fcntl.flock(file, fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX)


def try_lock(file: int, *, is_shared: bool = False) -> bool:
    """Lock an open file unless another process or descriptor holds the lock; True if locked.

    An OSError of a file system without locks is passed on.
    """
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def unlock(file: int) -> None:
    """Release the lock of an open file."""
    fcntl.flock(file, fcntl.LOCK_UN)
