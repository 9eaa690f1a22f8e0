from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.tiny_dumps import ingest_one_by_one, tiny_dump
from tests.support.uploads import sha256_of
from tracehouse import Warehouse
from tracehouse.cli.upkeep.task import Task, TaskStore
from tracehouse.cli.upkeep.tasks import TASKS, Amend, Compact, Forget, Retention
from tracehouse.ingest.errors import ManifestError
from tracehouse.warehouse.errors import QueryError, StoreError
from tracehouse.warehouse.upkeep.compact import CompactionResult, is_compaction_wanted


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ingest_one_by_one(tmp_path_factory.mktemp("made"), 2)


@pytest.fixture
def own(made: Path, tmp_path: Path) -> Path:
    """A copy of the store."""
    return Path(shutil.copytree(made, tmp_path / "own"))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Retention(raw_days=-1),
        lambda: Amend(set=("build",), where={"build": "b"}),
        lambda: Amend(set=("build=b",)),
        lambda: Forget(),
        lambda: Forget(dump="xyz"),
    ],
)
def test_a_task_without_meaning_cannot_be_made(make: Callable[[], Task]) -> None:
    with pytest.raises((QueryError, ManifestError)):
        make()


def test_every_task_has_a_name_of_its_own_and_scopes() -> None:
    assert len({kind.name for kind in TASKS}) == len(TASKS) == 8
    assert all(kind.scopes for kind in TASKS)


def test_forgetting_records_the_user_and_a_failed_compaction_names_the_remedy(own: Path) -> None:
    def fail() -> CompactionResult:
        raise StoreError("s", "the disk is full")

    with Warehouse.open(own) as warehouse:
        task = Forget(dump=sha256_of(tiny_dump(0)), yes=True)
        with pytest.raises(StoreError, match="free blocks of the DuckDB file"):
            task.run(TaskStore(own, warehouse, fail, user="nightly"))
        (row,) = warehouse.sql("SELECT forgotten_by FROM forgotten_dumps").to_pylist()
        assert row["forgotten_by"] == "nightly"
        assert is_compaction_wanted(own)
        again = task.run(TaskStore(own, warehouse, lambda: CompactionResult(2, 1, 0)))
    assert (again.num_columns, again.num_rows) == (0, 0)
    assert (again.schema.metadata or {})[b"note"].startswith(b"completed an interrupted")


@pytest.mark.parametrize(("new_bytes", "is_noted"), [(2, True), (1, False)])
def test_a_compaction_that_frees_no_space_is_noted(
    own: Path, new_bytes: int, is_noted: bool
) -> None:
    done = CompactionResult(2, new_bytes, 0)
    with Warehouse.open(own) as warehouse:
        table = Compact().run(TaskStore(own, warehouse, lambda: done))
    assert bool(table.schema.metadata) == is_noted
