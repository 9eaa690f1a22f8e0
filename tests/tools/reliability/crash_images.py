"""Look at all that a disk may hold at each sync of a store's life: `make torture`.

A life of a store is logged (power_life.py); some of its syncs may fail. At every sync, of the
operations since the last syncs all subsets come through if there are few, otherwise none, all, some
first ones, all but one, and some at random. Each image must have every dump that was acknowledged
by then, in whole segments and in records of the inbox. Some images are opened as well, and must
hold what power_life.py demands.
"""

from __future__ import annotations

import hashlib
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from tests.support.disk_shim import COMPILER, Fault, build_shim
from tests.tools.reliability.findings import Findings, Results, run_recorded
from tests.tools.reliability.judge import describe_problems
from tests.tools.reliability.power_disk import Disk, FileOperation, Image, write_image
from tests.tools.reliability.power_life import ACTIONS, Marks, check, read_marks
from tests.tools.reliability.power_loss import STORE, log_life
from tracehouse.warehouse.archive.segments import Segment, read_entries
from tracehouse.warehouse.inbox.log import SealedLog, find_logs

FEW = 5  # operations, all of whose subsets come through
SAMPLE = 12  # of each kind of subset of more operations
OPENED = 0.02  # share of the images that are opened

_Choices = Sequence[bool]


def choose_subsets(count: int, random_: random.Random) -> Iterator[_Choices]:
    """Which of so many operations come through, in each image."""
    if count <= FEW:
        yield from product((False, True), repeat=count)
        return
    for length in {0, count, *random_.sample(range(count), min(SAMPLE, count))}:
        yield [number < length for number in range(count)]
    for missing in random_.sample(range(count), min(SAMPLE, count)):
        yield [number != missing for number in range(count)]
    for share in [random_.random() for _ in range(SAMPLE)]:
        yield [random_.random() < share for _ in range(count)]


def choose_fault(random_: random.Random) -> Fault | None:
    """No fault, or a few syncs of one kind of file that fail."""
    pattern = random_.choice(["", "*", "*/inbox/*", "*/archive*", "*.wal", "*/warehouse.duckdb"])
    number, times = random_.randint(2, 40), random_.randint(1, 3)
    return Fault("sync", pattern, number, times) if pattern else None


class ImageJudge:
    """Looks for acknowledged dumps in the archive and the inbox of an image."""

    def __init__(self, folder: Path) -> None:
        """Use a folder for files of images."""
        self._folder = folder
        self._held: dict[str, frozenset[str]] = {}  # dumps by the SHA-256 of their segment

    def judge(self, image: Image, known: Marks) -> str:
        """What is wrong with an image; "" if nothing is."""
        held, damaged = set[str](), 0
        for path, content in image:
            if content is None:
                continue
            if Path(path.parent) == STORE / "archive" and (segment := Segment.at(Path(path))):
                dumps = self._read_segment(segment, bytes(content))
                held |= dumps or frozenset()
                damaged += dumps is None
            elif Path(path.parent) == STORE / "inbox":
                (self._folder / path.name).write_bytes(content)
        for log in find_logs(self._folder):
            held |= _read_log(log)
        for path_ in self._folder.iterdir():
            path_.unlink()
        wanted = {
            one for one, words in known.items() if "in" in words and "forgetting" not in words
        }
        return describe_problems({"lost": len(wanted - held), "damaged segments": damaged})

    def _read_segment(self, segment: Segment, content: bytes) -> frozenset[str] | None:
        """The dumps in a segment; None if it is not whole."""
        sha256 = hashlib.sha256(content).hexdigest()
        if not sha256.startswith(segment.digest):
            return None
        if sha256 not in self._held:
            file = self._folder / segment.path.name
            file.write_bytes(content)
            entries = read_entries(segment._replace(path=file))
            self._held[sha256] = frozenset(str(entry.sha256) for _, entry in entries)
        return self._held[sha256]


def _read_log(path: Path) -> set[str]:
    log = SealedLog.open(path)
    assert log is not None
    found = {log.record(offset).dump.sha256 for offset in log.scan().offsets}
    log.close()
    return found


def look_at_life(
    operations: Sequence[FileOperation], findings: Findings, opened: float, folder: Path
) -> int:
    """Judge images at every sync of a life; returns the number of syncs."""
    disk, known, judge, syncs = Disk(), Marks(set), ImageJudge(folder), 0
    for number, done in enumerate(operations):
        if done.kind in "SF":
            syncs += 1
            for choices in choose_subsets(disk.count_unsafe(), findings.random):
                where = f"before {number:,} of {len(operations):,} things, {choices}"
                findings.add("judged", where, judge.judge(disk.image(choices), known))
                if findings.random.random() < opened:
                    findings.add(*_open(disk.image(choices), known, where))
        disk.do(done)
        if done.kind == "M":
            read_marks(known, done.data)
    return syncs


def _open(image: Image, known: Marks, where: str) -> tuple[str, str, str]:
    """The outcome, place and problem of an image that is opened."""
    with tempfile.TemporaryDirectory() as name:
        left = Path(name, "left")
        write_image(left, image)
        outcome, problem = check(left / STORE, known)
    return outcome, where, problem


def torture(
    lives: int, *, seed: int, actions: int = ACTIONS, opened: float = OPENED
) -> dict[str, Any]:
    """Judge the images of so many lives, and open some of them."""
    findings, syncs, failed, seconds = Findings(seed), 0, 0, 0.0
    with tempfile.TemporaryDirectory() as name:
        shim, images = build_shim(Path(name)), Path(name, "images")
        images.mkdir()
        for life in range(seed, seed + lives):
            folder = Path(name, str(life))
            folder.mkdir()
            operations = log_life(folder, shim, life, actions, choose_fault(findings.random))
            failed += sum(done.kind == "F" for done in operations)
            shutil.rmtree(folder)
            start = time.perf_counter()
            syncs += look_at_life(operations, findings, opened, images)
            seconds += time.perf_counter() - start
    count = findings.outcomes["judged"]
    return findings.results(
        images=count,
        syncs=syncs,
        failed_syncs=failed,
        lives=lives,
        images_per_second=round(count / seconds),
    )


def run(count: int, seed: int) -> Results:
    """Look at so many lives, where the shim can be built."""
    if not shutil.which(COMPILER):
        sys.stderr.write(f"note: there is no C compiler ({COMPILER}) here, so no power is cut\n")
        return {}
    return {"crash_images": torture(count, seed=seed)}


if __name__ == "__main__":
    sys.exit(run_recorded(__doc__, 20, run))
