"""Kill the making of a store again and again: `make torture`, and a short run in the tests.

A process makes a store and ingests a dump; it is killed at the write that would let a file grow
past a given size (which reaches every one of the first writes), or after a random time; or the
write fails, as on a full disk. Afterwards a reader must find a whole store or none, and a writer
must be able to go on.
"""

from __future__ import annotations

import resource
import signal
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tests.support.corpus import CORPUS
from tests.support.forks import fork, kill_after, wait
from tests.tools.reliability.findings import Findings, Results, run_recorded
from tracehouse import Warehouse
from tracehouse.warehouse.errors import StoreError

DUMP = CORPUS / "real" / "mlp_xnnpack_n1.etdp"
MANIFEST = {"device": "pixel8", "build": "b1", "model": "mv2"}
STEP_BYTES = 1024  # DuckDB writes 4,096 bytes at a time first, so that each write is met four times
STEPS = 64
LARGEST_BYTES = 4 << 20  # of a store with one dump
LONGEST_SECONDS = 0.4


def make_and_ingest(store: Path) -> None:
    """Make a store and ingest a dump."""
    with Warehouse.open_to_write(store, create=True) as warehouse:
        warehouse.ingest([DUMP], manifest=MANIFEST)


def limit_files(byte_count: int, *, is_full_disk: bool) -> None:
    """Limit the size of files: the write that exceeds it kills this process, or fails."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN if is_full_disk else signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (byte_count, byte_count))


def kill_at_size(byte_count: int, action: Callable[[], None], *, is_full_disk: bool) -> str:
    """The outcome of a process whose files are limited in size."""

    def act() -> None:
        limit_files(byte_count, is_full_disk=is_full_disk)
        action()

    return wait(fork(act))


def check(store: Path) -> str:
    """Problems of the store that is left; "" without any."""
    try:
        with Warehouse.open(store, read_only=True) as warehouse:
            found = warehouse.query("dumps").num_rows
            events = warehouse.sql("SELECT count(*) AS n FROM events")["n"].to_pylist()[0]
            if (found > 0) != (events > 0) or found > 1:
                return f"{found} dumps with {events} events"
    except StoreError as error:
        if "no store here" not in str(error):
            return f"reader: {error}"
    try:
        make_and_ingest(store)
        with Warehouse.open(store, read_only=True) as warehouse:
            found = warehouse.query("dumps").num_rows
    except StoreError as error:
        return f"writer: {error}"
    left = sorted(path.name for path in store.iterdir())
    if found != 1 or left != ["archive", "lock", "warehouse.duckdb", "warehouse.duckdb.seal"]:
        return f"{found} dumps in the end, files {left}"
    return ""


def torture(count: int, *, seed: int, is_full_disk: bool = False) -> dict[str, Any]:
    """Kill so many processes that make a store, half of them at sizes, half at times."""
    findings = Findings(seed)
    for number in range(count):
        step = number if is_full_disk else number // 2
        size = step * STEP_BYTES
        if step >= STEPS:
            size = findings.random.randrange(LARGEST_BYTES)
        seconds = findings.random.uniform(0.001, LONGEST_SECONDS)
        with tempfile.TemporaryDirectory() as folder:
            make = partial(make_and_ingest, Path(folder, "store"))
            if is_full_disk or number % 2 == 0:
                where = f"at {size} bytes"
                outcome = kill_at_size(size, make, is_full_disk=is_full_disk)
            else:
                where, outcome = f"after {seconds:.3f} s", kill_after(seconds, make)
            problem = outcome if outcome in ("hung", "broken") else ""
            findings.add(outcome, where, problem or check(Path(folder, "store")))
    return findings.results(makings=count)


def run(count: int, seed: int) -> Results:
    """Kill processes that make a store, and let others meet a full disk."""
    return {
        "killed": torture(count, seed=seed),
        "full_disk": torture(count // 4, seed=seed, is_full_disk=True),
    }


if __name__ == "__main__":
    sys.exit(run_recorded(__doc__, 400, run))
