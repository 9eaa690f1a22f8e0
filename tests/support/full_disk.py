"""Disks without room, in this process."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from unittest.mock import patch


@contextmanager
def full_disk() -> Iterator[None]:
    """Let every disk seem to have no free byte while the body runs."""
    room = SimpleNamespace(f_bavail=0, f_bfree=0, f_blocks=0, f_frsize=1)
    with patch.object(os, "statvfs", lambda _: room):
        yield


def no_room(*_: object, **__: object) -> None:
    """Fail as a write to a full disk does.

    Raises:
        OSError: Always.
    """
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
