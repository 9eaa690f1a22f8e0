"""Damage files of the intake log, and fill their disk: what was whole must come in all the same.

`make torture` runs it; a short run is in the tests.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.support.tiny_dumps import stored_event_counts, tiny_incoming
from tests.tools.reliability.findings import Findings, Results, run_recorded
from tracehouse import Inbox, Warehouse
from tracehouse.warehouse.errors import StoreError
from tracehouse.warehouse.inbox.log import SealedLog, seal_logs

DUMPS = 12  # in a log
LONGEST_DAMAGE = 600  # bytes
REFUSALS = 50  # of a full disk, until there is room again
ROOM_BYTES = 64 << 10


def make_logged_store(folder: Path) -> tuple[Path, Path, list[int]]:
    """A store, the one log in its inbox, and the offsets at which its records begin and end."""
    store = folder / "store"
    Warehouse.open_to_write(store, create=True).close()
    with Inbox.open(store) as inbox:
        for number in range(DUMPS):
            inbox.accept(tiny_incoming(number))
    (path,) = seal_logs(store / "inbox")
    log = SealedLog.open(path)
    assert log is not None
    offsets = log.scan().offsets
    log.close()
    return store, path, [*offsets, path.stat().st_size]


def damage(path: Path, kind: str, random_: random.Random) -> tuple[int, int]:
    """Cut, zero or flip a part of a file; the offsets between which the file differs."""
    data = bytearray(path.read_bytes())
    size = len(data)
    start = random_.randrange(size)
    if kind == "cut":
        path.write_bytes(data[:start])
        return start, size
    end = min(start + 1 + random_.randrange(LONGEST_DAMAGE), size) if kind == "zero" else start + 1
    changed = bytes(end - start) if kind == "zero" else bytes([data[start] ^ 1 << start % 8])
    if data[start:end] == changed:
        return start, start
    path.write_bytes(data[:start] + changed + data[end:])
    return start, end


def check_damaged(store: Path, edges: list[int], start: int, end: int) -> str:
    """Problems after a drain of a damaged log."""
    records = list(pairwise(edges))
    whole = sum(start >= last or end <= first for first, last in records)
    with Warehouse.open_to_write(store) as warehouse:
        summary = warehouse.drain()
    stored = stored_event_counts(store)
    reports = [*summary.notes, *(one.detail for one in summary.refused)]
    kept = list((store / "inbox" / "damaged").glob("*"))
    if len(stored) != whole:
        return f"{len(stored)} dumps, wanted {whole}"
    is_seen = start in edges if end == edges[-1] else False  # cut between two records
    if end > start and not is_seen and not (reports and kept):
        return "damage was not reported or not kept"
    left = [path.name for path in (store / "inbox").iterdir() if path.is_file()]
    return f"left in the inbox: {left}" if left else ""


def torture(count: int, *, seed: int) -> dict[str, Any]:
    """Damage so many logs."""
    findings = Findings(seed)
    with tempfile.TemporaryDirectory() as folder:
        store, path, edges = make_logged_store(Path(folder))
        for number in range(count):
            copy = Path(shutil.copytree(store, Path(folder, "copy")))
            kind = ("cut", "zero", "flip")[number % 3]
            start, end = damage(copy / "inbox" / path.name, kind, findings.random)
            findings.add(kind, f"{kind} {start}-{end}", check_damaged(copy, edges, start, end))
            shutil.rmtree(copy)
    return findings.results(cases=count)


def fill_disk() -> dict[str, Any]:
    """Hand over to a store on a small disk until it is full, and again when there is room.

    Only root can mount one.
    """
    problems: list[str] = []
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        mount = ("mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", folder)
        subprocess.run(mount, check=True)
        stack.callback(subprocess.run, ("umount", folder), check=True)
        store, ballast = Path(folder, "store"), Path(folder, "ballast")
        Warehouse.open_to_write(store, create=True).close()
        ballast.write_bytes(bytes(shutil.disk_usage(folder).free - ROOM_BYTES))
        taken, refusals, number = set(), Counter[str](), 0
        with Inbox.open(store) as inbox:
            while refusals.total() < REFUSALS:
                try:
                    taken.add(inbox.accept(tiny_incoming(number)))
                except StoreError as error:
                    refusals[error.problem] += 1
                number += 1
            drained = _drain(store)
            ballast.unlink()
            taken.update(inbox.accept(tiny_incoming(number + i)) for i in range(REFUSALS))
        problems += filter(None, [_drain(store)])
        if {sha256 for sha256, _ in stored_event_counts(store)} != taken:
            problems.append("the store does not hold what was acknowledged, and that alone")
    return {
        "refused": dict(refusals),
        "acknowledged": len(taken),
        "drained_while_full": drained.replace(str(folder), "") or "yes",
        "problems": problems,
    }


def _drain(store: Path) -> str:
    try:
        with Warehouse.open_to_write(store) as warehouse:
            warehouse.drain()
    except StoreError as error:
        return str(error)
    return ""


def run(count: int, seed: int) -> Results:
    """Damage logs, and fill their disk where one can be mounted."""
    results = {"damaged": torture(count, seed=seed)}
    try:
        results["full_disk"] = fill_disk()
    except (OSError, subprocess.CalledProcessError) as error:
        sys.stderr.write(f"note: no small disk can be mounted here ({error})\n")
    return results


if __name__ == "__main__":
    sys.exit(run_recorded(__doc__, 210, run))
