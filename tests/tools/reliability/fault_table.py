"""The table of faults that commands meet: kinds of faults, kinds of files, commands."""

from __future__ import annotations

import errno
import re
from itertools import product
from pathlib import Path
from typing import NamedTuple

from tests.support.disk_shim import ALWAYS
from tests.tools.reliability.fault_operations import OPERATIONS

FILES = {
    "inbox": "*/store/inbox*",
    "archive": "*/store/archive*",
    "file": "*/store/warehouse.duckdb",
    "log": "*/store/warehouse.duckdb.wal",
    "new file": "*/store/warehouse.duckdb.new*",
    "snapshots": "*/store/snapshots*",
    "folder": "*/store",
    "lake": "*/lake*",
    "tokens": "*/store/*token*",
}
KINDS = {
    "open": (1, errno.EIO),
    "write": (1, errno.EIO),
    "truncate": (1, errno.EIO),
    "sync": (1, errno.EIO),
    "rename": (1, errno.EIO),
    "unlink": (1, errno.EIO),
    "mkdir": (1, errno.EIO),
    "read": (1, errno.EIO),
    "space": (ALWAYS, errno.ENOSPC),
    "short": (ALWAYS, 0),
}
NUMBERS = (1, 2, 3, 4, 6, 9, 13, 19, 28, 42, 63, 95)  # of the operation that fails first
_CAUSES = (
    "Input/output error",
    "No space left on device",
    "the disk is full",
    "fsync failed",
    "Could not write",
)
_REMEDY = re.compile("again|free some space|repair|restore|choose another|run 'tracehouse")


class Combination(NamedTuple):
    """What fails, in which files, under which command."""

    operation: str
    files: str
    kind: str


COMBINATIONS = tuple(map(Combination._make, product(OPERATIONS, FILES, KINDS)))


def judge_message(status: str, text: str, store: Path) -> str:
    """What is wrong with the status and the messages of a command whose disk failed."""
    errors = [line for line in text.splitlines() if line.startswith("error: ")]
    wrong = {
        f"ended with {status}": status != "1",
        "a traceback": "Traceback" in text,
        f"{len(errors)} errors": len(errors) != 1,
        "no place": not any(str(store.parent) in one for one in errors),
        "no cause": not any(cause in one for one in errors for cause in _CAUSES),
        "no remedy": not any(_REMEDY.search(one) for one in errors),
    }
    found = [name for name, is_so in wrong.items() if is_so]
    return f"{', '.join(found)}: {text}" if found else ""
