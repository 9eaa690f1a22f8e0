"""A short run of what `make torture` does at length."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from tests.support.disk_shim import COMPILER, build_shim
from tests.support.stores import write
from tests.support.tiny_dumps import stored_event_counts, tiny_incoming
from tests.tools.reliability.power_disk import Disk
from tests.tools.reliability.power_life import Life, Marks, check, read_marks
from tests.tools.reliability.power_loss import log_life, torture
from tracehouse import Warehouse

pytestmark = pytest.mark.skipif(
    not shutil.which(COMPILER), reason=f"no C compiler ({COMPILER}) to build what logs writes"
)


def files_of(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


@pytest.mark.slow
def test_a_logged_life_replays_to_the_same_files(tmp_path: Path) -> None:
    disk = Disk()
    for done in log_life(tmp_path, build_shim(tmp_path), seed=20261122):
        disk.do(done)
    disk.write_all(tmp_path / "copy")
    assert files_of(tmp_path / "copy") == files_of(tmp_path / "disk")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [20261122, 20261123])
def test_a_power_loss_loses_no_acknowledged_dump(seed: int) -> None:
    found = torture(4, seed=seed, actions=1)
    assert found["problems"] == []
    assert sum(found["outcomes"].values()) == 4


def test_each_life_lacks_some_actions_and_repeats_others(tmp_path: Path) -> None:
    lives = [
        [
            action.__name__
            for action in Life(tmp_path / "store", tmp_path / "marks", seed).draw_actions()
        ]
        for seed in range(40)
    ]
    assert len(set(map(frozenset, lives))) >= 10
    for name in ("_drop", "_amend", "_forget", "_make_anew"):
        assert 8 <= sum(name in life for life in lives) <= 32
        assert any(life.count(name) > 1 for life in lives)


def test_a_simulated_disk_with_a_synced_folder_loses_nothing_of_it(tmp_path: Path) -> None:
    write(tmp_path / "from/a/b.bin", b"some")
    write(tmp_path / "from/c.bin", b"")
    Disk.holding(tmp_path / "from").write_left(tmp_path / "to", random.Random(1))  # noqa: S311
    assert files_of(tmp_path / "to") == files_of(tmp_path / "from")


def test_the_power_loss_check_notices_missing_dumps_and_changes(tmp_path: Path) -> None:
    store, known = tmp_path / "store", Marks(set)
    with Warehouse.open_to_write(store, create=True) as warehouse:
        warehouse.ingest([tiny_incoming(number) for number in range(4)])
    hashes = [sha256 for sha256, _ in stored_event_counts(store)]
    words = "".join(f"in {sha256}\n" for sha256 in hashes)
    read_marks(known, words.encode())
    assert check(store, known) == ("opened", "")
    for word, sha256 in zip(
        ("in", "amended", "dropped", "forgotten"), ("0" * 64, *hashes), strict=False
    ):
        read_marks(known, f"{word} {sha256}\n".encode())
    found = "lost: 1, partial: 1, not forgotten: 1, not amended: 1"
    assert check(store, known) == ("opened", found)
