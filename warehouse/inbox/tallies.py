"""Tallies: how much of each log was acknowledged, in a file next to the log.

If a log is truncated, its tally shows how much is lost. A tally is not synced: after a power
failure it may be too small, never too large.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import NamedTuple

from tracehouse.warehouse.inbox.records import Damage, Scan

_FORMAT = struct.Struct("<QQ")


class Tally(NamedTuple):
    """Acknowledged dumps of a log, and the bytes up to the end of the last."""

    dump_count: int
    byte_count: int


def open_tally(log: Path) -> int:
    """Create the tally of a log, before the log can be sealed; an OSError is passed on."""
    mode = log.parent.stat().st_mode & 0o666
    return os.open(log.with_suffix(".tally"), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, mode)


def write_tally(file: int, tally: Tally) -> None:
    """Overwrite an open tally; an OSError is passed on."""
    os.pwrite(file, _FORMAT.pack(*tally), 0)


def read_tally(log: Path) -> Tally | None:
    """The tally of a log; None if it is missing or incomplete."""
    try:
        return Tally(*_FORMAT.unpack(log.with_suffix(".tally").read_bytes()))
    except (OSError, struct.error):
        return None


def delete_log(log: Path) -> None:
    """Delete a log and its tally, which never outlives it."""
    log.with_suffix(".tally").unlink(missing_ok=True)
    log.unlink(missing_ok=True)


def add_cut(scan: Scan, tally: Tally | None, size: int) -> Scan:
    """The scan of a log of `size` bytes, with the damage if the log was truncated."""
    if tally is None or size >= tally.byte_count:
        return scan
    start = next((damage.offset for damage in scan.damages if damage.is_torn), size)
    problem = (
        f"the log was truncated to {size:,} of {tally.byte_count:,} bytes: of the "
        f"{tally.dump_count:,} dumps that were acknowledged in it {len(scan.offsets):,} are intact"
    )
    whole = [damage for damage in scan.damages if not damage.is_torn]
    return Scan(scan.offsets, [*whole, Damage(start, size - start, problem, is_torn=False)])
