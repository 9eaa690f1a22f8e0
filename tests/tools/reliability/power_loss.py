"""Cut the power again and again: `make torture`, and a short run in the tests.

A process works with a store while all that it does to files is logged (disk_shim.c). Out of the
log is made what a disk may hold if the power failed at some moment (power_disk.py); at some, the
power fails once more while that is made ready. Whoever opens what is left must find every dump that
was acknowledged by then, once and whole, and what was done to it (power_life.py).
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.disk_shim import COMPILER, Fault, FaultControl, build_shim, preloaded
from tests.support.documents import ROOT
from tests.tools.reliability.findings import Findings, Results, run_recorded
from tests.tools.reliability.power_disk import Disk, FileOperation, read_log
from tests.tools.reliability.power_life import ACTIONS, Life, Marks, check, read_marks, recover

MODULE = "tests.tools.reliability.power_loss"
STORE = Path("somewhere", "store")  # in the folder that is looked after
NO_VARIABLES: Mapping[str, str] = {}
POINTS = 50  # in a life
AGAIN = 0.3  # of the moments: the power fails once more
TURNING = "SRUDCM"  # after these things another state is safe, or may be there


def log_life(
    folder: Path, shim: Path, seed: int, actions: int = ACTIONS, fault: Fault | None = None
) -> list[FileOperation]:
    """The operations of a life of a store, which is in `folder` / "disk" afterwards."""
    (folder / "disk").mkdir()
    control = FaultControl(folder / "fault")
    if fault:
        control.begin(fault)
    what = ("live", str(seed), str(actions))
    return _log(folder / "disk", folder / "log", shim, *what, environment=control.environment)


def _log(
    disk: Path, log: Path, shim: Path, *what: str, environment: Mapping[str, str] = NO_VARIABLES
) -> list[FileOperation]:
    """The operations of a process of this module on the files in a folder."""
    environment = {**os.environ, **environment, **preloaded(shim, root=disk, log=log)}
    command = (sys.executable, "-m", MODULE, *what, disk / STORE, f"{log}.marks")
    subprocess.run(command, env=environment, cwd=ROOT, check=True)
    return read_log(log)


def cut_again(left: Path, shim: Path, random_: random.Random) -> None:
    """Cut the power once more, while a store that is left is made ready."""
    disk, log = Disk.holding(left), left.with_name("again")
    done = _log(left, log, shim, "recover")
    (point,) = choose_points(done, 1, random_)
    for one in done[:point]:
        disk.do(one)
    shutil.rmtree(left)
    disk.write_left(left, random_)
    log.unlink()


class PowerLoss(NamedTuple):
    """The outcome of one loss of power, its moment, and the problem of the store."""

    outcome: str
    where: str
    problem: str


def cut_power(
    done: Sequence[FileOperation], points: Sequence[int], random_: random.Random, shim: Path
) -> Iterator[PowerLoss]:
    """A power loss at each of the points.

    Args:
        done: What was done.
        points: How much of that, in ascending order.
        random_: Chooses what is left of it.
        shim: What logs; a folder for what is left is made beside it.
    """
    disk, known, position, left = Disk(), Marks(set), 0, shim.with_name("left")
    for point in points:
        for one in done[position:point]:
            disk.do(one)
            if one.kind == "M":
                read_marks(known, one.data)
        position = point
        disk.write_left(left, random_)
        is_again = random_.random() < AGAIN and any("in" in words for words in known.values())
        if is_again:
            cut_again(left, shim, random_)
        outcome, problem = check(left / STORE, known)
        again = " again" if is_again else ""
        where = f"after {point:,} of {len(done):,} things{again}"
        yield PowerLoss(f"{outcome}{again}", where, problem)
        shutil.rmtree(left)


def choose_points(done: Sequence[FileOperation], count: int, random_: random.Random) -> list[int]:
    """Moments of which half are just before or after something that changes what is safe."""
    turning = [n for n, one in enumerate(done) if one.kind in TURNING]
    chosen = [random_.choice(turning) + random_.randint(0, 1) for _ in range(count // 2)]
    return sorted(chosen + [random_.randint(0, len(done)) for _ in range(count - len(chosen))])


def torture(count: int, *, seed: int, actions: int = ACTIONS) -> dict[str, Any]:
    """Cut the power so many times."""
    findings, things = Findings(seed), 0
    with tempfile.TemporaryDirectory() as name:
        shim = build_shim(Path(name))
        for first in range(0, count, POINTS):
            folder = Path(name, str(first))
            folder.mkdir()
            done = log_life(folder, shim, seed + first, actions)
            things += len(done)
            points = choose_points(done, min(POINTS, count - first), findings.random)
            for loss in cut_power(done, points, findings.random, shim):
                findings.add(loss.outcome, f"life {seed + first} {loss.where}", loss.problem)
            shutil.rmtree(folder)
    return findings.results(power_losses=count, things_done=things)


def run(count: int, seed: int) -> Results:
    """Cut the power, where the shim can be built."""
    if not shutil.which(COMPILER):
        sys.stderr.write(f"note: there is no C compiler ({COMPILER}) here, so no power is cut\n")
        return {}
    return {"power_loss": torture(count, seed=seed)}


if __name__ == "__main__":
    if sys.argv[1:2] == ["live"]:
        Life(Path(sys.argv[4]), Path(sys.argv[5]), int(sys.argv[2])).live(int(sys.argv[3]))
        sys.exit()
    if sys.argv[1:2] == ["recover"]:
        recover(Path(sys.argv[2]), create=False)
        sys.exit()
    sys.exit(run_recorded(__doc__, 300, run))
