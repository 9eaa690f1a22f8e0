from __future__ import annotations

import errno
import fcntl
import os
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.command import ENVIRONMENT
from tracehouse.warehouse.engine.store_lock import LOCK_NAME, StoreLock
from tracehouse.warehouse.errors import StoreLockedError, WriterWaitingError

# Waits to write a store that others read.
WAITER = """
import sys
from pathlib import Path
from tracehouse.warehouse.engine.store_lock import StoreLock
StoreLock.for_writing(Path(sys.argv[1]), is_shared=False, wait=600)
"""
LONG = 60.0  # seconds, of which nothing takes any where all is well


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store that somebody wrote once."""
    write(tmp_path).release()
    return tmp_path


def write(store: Path, wait: float = 0.0) -> StoreLock:
    return StoreLock.for_writing(store, is_shared=False, wait=wait)


def read(store: Path, wait: float = 0.0, *, is_urgent: bool = False) -> StoreLock:
    return StoreLock.for_reading(store, wait=wait, is_urgent=is_urgent)


def await_waiter(store: Path) -> None:
    """Ask until a writer waits."""
    with suppress(WriterWaitingError):
        while True:
            read(store).release()


def write_by_turns(store: Path) -> None:
    write(store, LONG).release()


def test_a_writer_gets_in_between_overlapping_readers(store: Path) -> None:
    lock, turned_away = read(store), 0
    with ThreadPoolExecutor(1) as pool:
        writer: Future[StoreLock] = pool.submit(write, store, 5.0)
        while not writer.done():
            try:
                following = read(store)
            except StoreLockedError:
                turned_away += 1
                lock.release()
            else:
                lock.release()
                lock = following
        writer.result().release()
    assert turned_away
    read(store).release()


def test_an_active_reader_keeps_a_writer_waiting(store: Path) -> None:
    lock = read(store)
    with pytest.raises(StoreLockedError):
        write(store, 0.2)
    lock.release()
    write(store).release()


def test_a_reader_waits_for_a_writer_that_waits(store: Path) -> None:
    lock = read(store)
    with ThreadPoolExecutor(2) as pool:
        writer = pool.submit(write, store, LONG)
        await_waiter(store)
        reader = pool.submit(read, store, LONG)
        lock.release()
        writer.result().release()
        reader.result().release()


def test_an_urgent_reader_goes_before_a_writer_that_waits_too_long(store: Path) -> None:
    lock = read(store)
    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(write, store, LONG)
        await_waiter(store)
        read(store, 0.1, is_urgent=True).release()
        assert not writer.done()
        lock.release()
        writer.result().release()


def test_writers_that_wait_come_in_one_after_the_other(store: Path) -> None:
    lock = read(store)
    with ThreadPoolExecutor(3) as pool:
        writers = [pool.submit(write_by_turns, store) for _ in range(3)]
        await_waiter(store)
        lock.release()
        for writer in writers:
            writer.result()


@pytest.mark.system
def test_a_killed_waiter_leaves_nothing(store: Path) -> None:
    before = sorted(store.iterdir())
    lock = read(store)
    command = [sys.executable, "-c", WAITER, str(store)]
    with subprocess.Popen(command, env=ENVIRONMENT) as waiter:
        await_waiter(store)
        waiter.kill()
    read(store).release()
    lock.release()
    assert sorted(store.iterdir()) == before


@pytest.mark.system
def test_a_lock_that_briefly_outlives_its_holder_is_waited_for(store: Path) -> None:
    holder = os.fork()
    if not holder:
        lock = StoreLock.for_writing(store, is_shared=False, wait=0)
        if os.fork():
            os._exit(0)
        time.sleep(0.3)  # as a process that was being started when its owner was killed
        lock.release()
        os._exit(0)
    os.waitpid(holder, 0)
    StoreLock.for_writing(store, is_shared=False, wait=0).release()


def test_a_writer_that_does_not_wait_blocks_no_reader(store: Path) -> None:
    lock = read(store)
    with pytest.raises(StoreLockedError):
        write(store)
    read(store).release()
    lock.release()


@pytest.mark.parametrize("is_readable", [True, False])
def test_the_store_lock_works_where_a_directory_cannot_be_locked(
    store: Path, monkeypatch: pytest.MonkeyPatch, is_readable: bool
) -> None:
    flock, open_ = fcntl.flock, os.open

    def refuse_to_lock(file: int, kind: int) -> None:
        if stat.S_ISDIR(os.fstat(file).st_mode):
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        flock(file, kind)

    def refuse_to_open(path: Path, flags: int, mode: int = 0o777) -> int:
        if not is_readable and path.name != LOCK_NAME:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return open_(path, flags, mode)

    monkeypatch.setattr(fcntl, "flock", refuse_to_lock)
    monkeypatch.setattr(os, "open", refuse_to_open)
    lock = read(store)
    writing = threading.Thread(target=write_by_turns, args=(store,))
    writing.start()
    read(store).release()
    lock.release()
    writing.join()
