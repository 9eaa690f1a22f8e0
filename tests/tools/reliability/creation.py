"""Kill the making of a store again and again: `make torture`, and a short run in the tests.

A process makes a store and ingests a dump; it is killed at the write that would let a file grow
past a given size (which reaches every one of the first writes), or after a random time; or the
write fails, as on a full disk. Afterwards a reader must find a whole store or none, and a writer
must be able to go on.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.corpus import CORPUS
from tests.tools.reliability.recorded import Results, run_recorded
from warehouse import Warehouse
from warehouse.errors import StoreError

DUMP = CORPUS / "real" / "mlp_xnnpack_n1.etdp"
MANIFEST = {"device": "pixel8", "build": "b1", "model": "mv2"}
STEP_BYTES = 1024  # DuckDB writes 4,096 bytes at a time first, so that each write is met four times
STEPS = 64
LARGEST_BYTES = 4 << 20  # of a store with one dump
LONGEST_SECONDS = 0.4


def make_and_ingest(store: Path) -> None:
    """What is killed."""
    with Warehouse.open(store, create=True) as warehouse:
        warehouse.ingest([DUMP], manifest=MANIFEST)


def die_at_size(byte_count: int, *, is_full_disk: bool) -> Callable[[], None]:
    """Let no file of this process grow further: the write that tries kills it, or fails."""

    def prepare() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN if is_full_disk else signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (byte_count, byte_count))

    return prepare


def die_after(seconds: float) -> Callable[[], None]:
    """Kill this process after a time."""

    def prepare() -> None:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds)

    return prepare


def run_child(store: Path, prepare: Callable[[], None]) -> str:
    """Make a store in a forked process: done, killed or failed."""
    child = os.fork()
    if not child:
        status = 1
        try:
            prepare()
            make_and_ingest(store)
            status = 0
        except StoreError:
            status = 2
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return "killed"
    return {0: "done", 2: "failed"}.get(os.WEXITSTATUS(status), "broken")


def check(store: Path) -> str:
    """What is wrong with the store that is left; "" if nothing is."""
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
    """Kill that many makings, half of them at sizes and half of them at times."""
    random_ = random.Random(seed)  # noqa: S311 - for choosing moments
    outcomes: Counter[str] = Counter()
    problems: list[str] = []
    for number in range(count):
        by_size = is_full_disk or number % 2 == 0
        step = number if is_full_disk else number // 2
        size = step * STEP_BYTES if step < STEPS else random_.randrange(LARGEST_BYTES)
        seconds = random_.uniform(0.001, LONGEST_SECONDS)
        prepare = die_at_size(size, is_full_disk=is_full_disk) if by_size else die_after(seconds)
        with tempfile.TemporaryDirectory() as folder:
            outcome = run_child(Path(folder, "store"), prepare)
            outcomes[outcome] += 1
            problem = "an error of no kind of ours" if outcome == "broken" else ""
            problem = problem or check(Path(folder, "store"))
        if problem:
            where = f"at {size} bytes" if by_size else f"after {seconds:.3f} s"
            problems.append(f"{where}: {problem}")
    return {"makings": count, "seed": seed, "outcomes": dict(outcomes), "problems": problems}


def run(count: int, seed: int) -> Results:
    """Kill makings, and let others meet a full disk."""
    return {
        "killed": torture(count, seed=seed),
        "full_disk": torture(count // 4, seed=seed, is_full_disk=True),
    }


if __name__ == "__main__":
    sys.exit(run_recorded(__doc__, 400, run))
