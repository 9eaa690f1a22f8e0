"""What says that a store's file is as tracehouse left it, so that it need not be searched again.

Beside the file stands a seal: which file it was when its writer last let go of it, how large, when
it was last touched, and DuckDB's headers, which count its checkpoints. Whoever changes the file
breaks it, and a copy has none: the system, not who sends a store, gives a file its number and the
time of its last change. So a store from elsewhere is searched until somebody has written to it.
"""

from __future__ import annotations

import os
import stat
import zlib
from contextlib import suppress
from functools import partial
from pathlib import Path

from warehouse.engine.store_file import HEADERS_BYTES, log_of

SEAL_SUFFIX = ".seal"

_WRITABLE_BY_OTHERS = 0o022


def seal_of(file: Path) -> Path:
    """The file that holds the seal of a database."""
    return file.with_name(file.name + SEAL_SUFFIX)


def seal_file(file: Path, descriptor: int) -> None:
    """Seal a database, whose file is open; without room for a seal, it stays without.

    It must hold nothing but what we put there. A seal has the permissions of its file: where others
    may write to both, it says nothing.
    """
    with suppress(OSError):
        seal = seal_of(file)
        seal.unlink(missing_ok=True)
        opener = partial(os.open, mode=os.fstat(descriptor).st_mode & 0o666)
        with open(seal, "xb", opener=opener) as target:
            target.write(_describe(descriptor))


def is_sealed(file: Path, descriptor: int) -> bool:
    """Whether a database is as it was when we, the same user, sealed it, and has no log.

    Ask while DuckDB has it open, so that no other program can change it any more.
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
    """What no other file has, nor the same one once it is written to."""
    found = os.fstat(descriptor)
    numbers = found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
    headers = zlib.crc32(os.pread(descriptor, HEADERS_BYTES, 0))
    return " ".join(map(str, (*numbers, headers))).encode()
