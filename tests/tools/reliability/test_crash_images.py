"""Images of crashes: which are made, and that the loss of an acknowledged dump is found in them."""

from __future__ import annotations

import random
import shutil
from pathlib import Path, PurePosixPath

import pytest

from tests.support.disk_shim import COMPILER
from tests.tools.reliability.crash_images import choose_subsets, look_at_life, torture
from tests.tools.reliability.findings import Findings
from tests.tools.reliability.power_disk import Disk, FileOperation

NOWHERE = PurePosixPath()
FOLDER, FILE = PurePosixPath("a"), PurePosixPath("a/f")


def done(kind: str, inode: int, path: PurePosixPath = NOWHERE, data: bytes = b"") -> FileOperation:
    return FileOperation(kind, inode, 0, path, NOWHERE, data)


def images(operations: list[FileOperation]) -> set[bytes | None]:
    """Each content that the file may have after these operations; None if it may be missing."""
    disk = Disk()
    for one in operations:
        disk.do(one)
    found = set()
    for choices in choose_subsets(disk.count_unsafe(), random.Random(1)):  # noqa: S311
        content = dict(disk.image(choices)).get(FILE)
        found.add(None if content is None else bytes(content))
    return found


MADE = [done("B", 1), done("D", 2, FOLDER), done("C", 3, FILE)]
SAFE = [*MADE, done("S", 1), done("S", 2)]


def test_all_subsets_of_few_operations_are_made_and_some_of_many() -> None:
    assert len(set(choose_subsets(3, random.Random(1)))) == 8  # noqa: S311
    many = [tuple(one) for one in choose_subsets(40, random.Random(1))]  # noqa: S311
    assert {(False,) * 40, (True,) * 40} <= set(many)
    assert any(sum(one) == 39 for one in many)


def test_unsynced_writes_survive_or_are_lost() -> None:
    assert images(MADE) == {None, b""}
    assert images([*SAFE, done("W", 3, data=b"x")]) == {b"", b"x"}
    assert images([*SAFE, done("W", 3, data=b"x"), done("S", 3)]) == {b"x"}


def test_writes_before_a_failed_sync_are_never_certain() -> None:
    failed = [*SAFE, done("W", 3, data=b"x"), done("F", 3)]
    later = done("W", 3, data=b"y")._replace(offset=1)
    assert images([*failed, later, done("S", 3)]) == {b"\0y", b"xy"}
    assert images([*failed, done("W", 3, data=b"z"), done("S", 3)]) == {b"z"}


def test_a_dump_that_was_acknowledged_before_it_was_synced_is_missed(tmp_path: Path) -> None:
    findings = Findings(1)
    mark = done("M", 0, data=b"in " + b"0" * 64 + b"\n")
    assert look_at_life([*MADE, mark, done("S", 1)], findings, 0.0, tmp_path) == 1
    assert findings.problems
    assert all(problem.endswith("lost: 1") for problem in findings.problems)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which(COMPILER), reason=f"no C compiler ({COMPILER})")
def test_every_image_of_a_short_life_has_what_was_acknowledged() -> None:
    found = torture(1, seed=20261122, actions=1, opened=0.005)
    assert found["problems"] == []
    assert found["images"] > 500
