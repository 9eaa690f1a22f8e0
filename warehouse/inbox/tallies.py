"""Tallies: how much was acknowledged in each log of the inbox, kept in a file beside it.

A tally survives what happens to its log, so that a log that was cut can say what it lost. It is
not synced: after a power failure it may say too little, never too much.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import NamedTuple

from warehouse.inbox.records import Damage, Scan

_FORMAT = struct.Struct("<QQ")


class Tally(NamedTuple):
    """What was acknowledged in a log: dumps, and the bytes up to the end of the last."""

    dump_count: int
    byte_count: int


def open_tally(log: Path) -> int:
    """Make the tally of a log, before anyone can seal the log; an OSError is passed on."""
    mode = log.parent.stat().st_mode & 0o666
    return os.open(log.with_suffix(".tally"), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, mode)


def write_tally(file: int, tally: Tally) -> None:
    """Replace what an open tally says; an OSError is passed on."""
    os.pwrite(file, _FORMAT.pack(*tally), 0)


def read_tally(log: Path) -> Tally | None:
    """The tally of a log; None if there is none, as beside a log of an older version."""
    try:
        return Tally(*_FORMAT.unpack(log.with_suffix(".tally").read_bytes()))
    except (OSError, struct.error):
        return None


def delete_log(log: Path) -> None:
    """Delete a log and its tally, which never outlives it."""
    log.with_suffix(".tally").unlink(missing_ok=True)
    log.unlink(missing_ok=True)


def add_cut(scan: Scan, tally: Tally | None, size: int) -> Scan:
    """What a scan of a log of so many bytes found, and whether its end was cut off."""
    if tally is None or size >= tally.byte_count:
        return scan
    start = next((damage.offset for damage in scan.damages if damage.is_torn), size)
    problem = (
        f"the log was cut to {size:,} of {tally.byte_count:,} bytes: of the "
        f"{tally.dump_count:,} dumps that were acknowledged in it {len(scan.offsets):,} are whole"
    )
    whole = [damage for damage in scan.damages if not damage.is_torn]
    return Scan(scan.offsets, [*whole, Damage(start, size - start, problem, is_torn=False)])
