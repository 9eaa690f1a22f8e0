"""Seals: proof that a store's file is unchanged since tracehouse wrote it, to skip its checks.

A seal is a small file next to the store's file. It holds the inode, size and times of the store's
file at its last checkpoint, and a checksum of DuckDB's headers, which count checkpoints. Any other
change of the file breaks the seal. A store from another system never has a valid seal, because the
receiving system assigns inodes and change times: such a store is checked until it is written to.
"""

from __future__ import annotations

import os
import stat
import zlib
from contextlib import suppress
from functools import partial
from pathlib import Path

from tracehouse.warehouse.engine.store_file import HEADERS_BYTES, log_of

SEAL_SUFFIX = ".seal"

_WRITABLE_BY_OTHERS = 0o022


def seal_of(file: Path) -> Path:
    """The file with the seal of a database."""
    return file.with_name(file.name + SEAL_SUFFIX)


def seal_file(file: Path, descriptor: int) -> None:
    """Seal an open database that contains no foreign objects.

    The seal has the permissions of the database; if others may write both, `is_sealed` is false.
    If the seal cannot be written, the database stays without one.
    """
    with suppress(OSError):
        seal = seal_of(file)
        seal.unlink(missing_ok=True)
        opener = partial(os.open, mode=os.fstat(descriptor).st_mode & 0o666)
        with open(seal, "xb", opener=opener) as target:
            target.write(_describe(descriptor))


def is_sealed(file: Path, descriptor: int) -> bool:
    """Whether a database is unchanged since this user sealed it, and has no log.

    Call it while DuckDB has the database open, so that no other program can change it any more.
    """
    try:
        seal, wanted = seal_of(file), _describe(descriptor)
        found = seal.lstat()
        is_ours = found.st_uid == os.geteuid() and not found.st_mode & _WRITABLE_BY_OTHERS
        is_like_one = stat.S_ISREG(found.st_mode) and found.st_size == len(wanted)
        is_same = is_ours and is_like_one and seal.read_bytes() == wanted
    except OSError:
        return False
    return is_same and not log_of(file).exists()


def _describe(descriptor: int) -> bytes:
    """A text that differs for every other file, and for this one after every write to it."""
    found = os.fstat(descriptor)
    numbers = found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
    headers = zlib.crc32(os.pread(descriptor, HEADERS_BYTES, 0))
    return " ".join(map(str, (*numbers, headers))).encode()
