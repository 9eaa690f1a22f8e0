"""A short run of what `make torture` does at length."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.cross_section import cross_section
from tests.tools.reliability.power_disk import Disk
from tests.tools.reliability.power_loss import COMPILER, build_shim, log_life, torture

pytestmark = pytest.mark.skipif(
    not shutil.which(COMPILER), reason=f"no C compiler ({COMPILER}) to build what logs writes"
)


def files_of(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


@pytest.mark.slow
def test_all_that_was_done_is_logged(tmp_path: Path) -> None:
    disk = Disk()
    for done in log_life(tmp_path, build_shim(tmp_path), seed=20261122):
        disk.do(done)
    disk.write_all(tmp_path / "copy")
    assert files_of(tmp_path / "copy") == files_of(tmp_path / "disk")


@pytest.mark.parametrize("seed", cross_section([20261122, 20261123], 2))
def test_nothing_acknowledged_is_lost_with_the_power(seed: int) -> None:
    found = torture(4, seed=seed, deeds=1)
    assert found["problems"] == []
    assert sum(found["outcomes"].values()) == 4
