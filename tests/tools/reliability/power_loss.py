"""Cut the power again and again: `make torture`, and a short run in the tests.

A process works with a store while all that it does to files is logged (power_shim.c). Out of the
log is made what a disk may hold if the power failed at some moment (power_disk.py). Whoever opens
that must find every dump that was acknowledged by then, once and whole.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Thread
from typing import Any

from tests.support.documents import ROOT
from tests.support.tiny_dumps import COUNTED, tiny_dump, tiny_dump_events, tiny_incoming
from tests.tools.reliability.power_disk import Disk, Done, read_log
from tests.tools.reliability.recorded import Results, run_recorded
from warehouse import Inbox, Warehouse
from warehouse.archive.archive import Archive
from warehouse.archive.rewriting import merge_segments
from warehouse.archive.verification import verify_archive
from warehouse.errors import DamagedStoreError, WarehouseError
from warehouse.storage.compaction import compact_store
from warehouse.storage.rebuild import rebuild_store

MODULE = "tests.tools.reliability.power_loss"
SHIM = Path(__file__).with_name("power_shim.c")
COMPILER = "cc"
STORE = Path("somewhere", "store")  # in the folder that is looked after
DUMPS = 6  # handed over together
DEEDS = 5  # in a life of a store
POINTS = 50  # in a life
MOST_DUMPS = 1_000
TURNING = "SRUDCM"  # after these things another state is safe, or may be there


def build_shim(folder: Path) -> Path:
    """What is preloaded; a CalledProcessError or OSError where it cannot be built."""
    shim = folder / "power_shim.so"
    subprocess.run([COMPILER, "-shared", "-fPIC", "-O2", "-o", shim, SHIM, "-ldl"], check=True)
    return shim


def log_life(folder: Path, shim: Path, seed: int, deeds: int = DEEDS) -> list[Done]:
    """What was done in a life of a store, which is in `folder` / "disk" afterwards."""
    disk, log = folder / "disk", folder / "log"
    disk.mkdir()
    environment = os.environ | {
        "LD_PRELOAD": str(shim),
        "POWER_ROOT": str(disk),
        "POWER_LOG": str(log),
    }
    life = (disk / STORE, f"{log}.marks", str(seed), str(deeds))
    command = (sys.executable, "-m", MODULE, "live", *life)
    subprocess.run(command, env=environment, cwd=ROOT, check=True)
    return read_log(log)


class Life:
    """What is done with a store, in an order that a seed says; acknowledged dumps are marked."""

    def __init__(self, store: Path, marks: Path, seed: int) -> None:
        """Take a store that is not there yet."""
        self.store = store
        self._marks = os.open(marks, os.O_WRONLY | os.O_CREAT)
        self._random = random.Random(seed)  # noqa: S311 - for choosing an order
        self._number = 0

    def live(self, count: int) -> None:
        """Do so many things, at most `DEEDS`."""
        with Warehouse.open(self.store, create=True) as warehouse:
            self._ingest(warehouse)
        deeds = [self._work, self._work, self._work, self._make_anew, self._make_anew]
        self._random.shuffle(deeds)
        for deed in deeds[:count]:
            deed()

    def _work(self) -> None:
        """Ingest and hand over, in several threads, while the inbox is drained."""
        with Warehouse.open(self.store) as warehouse, Inbox.open(self.store) as inbox:
            for _ in range(self._random.randint(1, 3)):
                threads = [Thread(target=self._hand_over, args=(inbox, self._next())) for _ in "ab"]
                for thread in threads:
                    thread.start()
                warehouse.drain()
                self._ingest(warehouse)
                for thread in threads:
                    thread.join()
            if self._random.random() < 0.5:
                warehouse.drain()
            self._random.choice((warehouse.snapshot, self._merge))()

    def _make_anew(self) -> None:
        """Write the DuckDB file anew."""
        self._random.choice((rebuild_store, compact_store))(self.store)

    def _merge(self) -> None:
        merge_segments(Archive(self.store))

    def _ingest(self, warehouse: Warehouse) -> None:
        numbers = self._next()
        warehouse.ingest([tiny_incoming(number) for number in numbers])
        self._mark(*map(_hash, numbers))

    def _hand_over(self, inbox: Inbox, numbers: Sequence[int]) -> None:
        for number in numbers:
            self._mark(inbox.accept(tiny_incoming(number)))

    def _next(self) -> range:
        self._number += DUMPS
        return range(self._number - DUMPS, self._number)

    def _mark(self, *hashes: str) -> None:
        os.write(self._marks, "".join(f"{sha256}\n" for sha256 in hashes).encode())


def check(store: Path, acknowledged: set[str]) -> tuple[str, str]:
    """What became of a store that is left, and what is wrong with that."""
    outcome = "opened"
    try:
        try:
            Warehouse.open(store, create=not acknowledged).close()
        except DamagedStoreError:
            outcome = "rebuilt"
            rebuild_store(store)
        with Warehouse.open(store) as warehouse:
            warehouse.drain()
            rows = warehouse.sql(COUNTED).to_pylist()
            refused = warehouse.sql("SELECT reason FROM ingest_errors").to_pylist()
            known = warehouse.sql("SELECT segment FROM archive_segments").to_pylist()
    except WarehouseError as error:
        return outcome, f"not ready: {type(error).__name__}: {error}"
    stored = {row["sha256"]: row["n"] for row in rows}
    events = {_hash(number): tiny_dump_events(number) for number in range(MOST_DUMPS)}
    verified = verify_archive(Archive(store), [row["segment"] for row in known])
    found = {
        "lost": len(acknowledged - stored.keys()),
        "doubled": len(rows) - len(stored),
        "partial": sum(n != events[sha256] for sha256, n in stored.items()),
        "refused": sum(row["reason"] != "damaged" for row in refused),
        "left in the inbox": len(list((store / "inbox").glob("*.*"))),
        "damaged segments": [one.problem for one in verified if one.problem],
    }
    return outcome, ", ".join(f"{what}: {count}" for what, count in found.items() if count)


def cut_power(
    done: Sequence[Done], points: Sequence[int], random_: random.Random, folder: Path
) -> Iterator[tuple[str, str]]:
    """What became of the store, and what is wrong with it, for a power loss at each of the points.

    Args:
        done: What was done.
        points: How much of that, in ascending order.
        random_: Chooses what is left of it.
        folder: Where it is put.
    """
    disk, acknowledged, position = Disk(), set[str](), 0
    for point in points:
        for one in done[position:point]:
            disk.do(one)
            if one.kind == "M":
                acknowledged.update(one.data.decode().split())
        position = point
        left = folder / "left"
        disk.write_left(left, random_)
        outcome, problem = check(left / STORE, acknowledged)
        yield outcome, problem and f"after {point:,} of {len(done):,} things: {problem}"
        shutil.rmtree(left)


def choose_points(done: Sequence[Done], count: int, random_: random.Random) -> list[int]:
    """Moments of which half are just before or after something that changes what is safe."""
    turning = [n for n, one in enumerate(done) if one.kind in TURNING]
    chosen = [random_.choice(turning) + random_.randint(0, 1) for _ in range(count // 2)]
    return sorted(chosen + [random_.randint(0, len(done)) for _ in range(count - len(chosen))])


def torture(count: int, *, seed: int, deeds: int = DEEDS) -> dict[str, Any]:
    """Cut the power that many times."""
    random_ = random.Random(seed)  # noqa: S311 - for choosing moments
    outcomes: Counter[str] = Counter()
    problems: list[str] = []
    things = 0
    with tempfile.TemporaryDirectory() as name:
        shim = build_shim(Path(name))
        for first in range(0, count, POINTS):
            folder = Path(name, str(first))
            folder.mkdir()
            done = log_life(folder, shim, seed + first, deeds)
            things += len(done)
            points = choose_points(done, min(POINTS, count - first), random_)
            for outcome, problem in cut_power(done, points, random_, folder):
                outcomes[outcome] += 1
                problems += [f"life {seed + first} {problem}"] if problem else []
            shutil.rmtree(folder)
    return {
        "power_losses": count,
        "seed": seed,
        "things_done": things,
        "outcomes": dict(sorted(outcomes.items())),
        "problems": problems,
    }


def _hash(number: int) -> str:
    return hashlib.sha256(tiny_dump(number)).hexdigest()


def run(count: int, seed: int) -> Results:
    """Cut the power, where the shim can be built."""
    if not shutil.which(COMPILER):
        sys.stderr.write(f"note: there is no C compiler ({COMPILER}) here, so no power is cut\n")
        return {}
    return {"power_loss": torture(count, seed=seed)}


if __name__ == "__main__":
    if sys.argv[1:2] == ["live"]:
        Life(Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])).live(int(sys.argv[5]))
        sys.exit()
    sys.exit(run_recorded(__doc__, 300, run))
