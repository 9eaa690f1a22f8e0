from __future__ import annotations

from pathlib import Path

from tracehouse.warehouse.lake.commits import AddedFile, read_state
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.lake.plans import LakeChange, planned_files


def test_a_change_without_files_leaves_nothing_in_the_lake(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    change = LakeChange(lake, read_state(lake), "export")
    change.plan("a", [])
    change.commit()
    assert lake.list() == []


def test_files_are_on_record_until_one_commit_adds_and_removes_them(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    for path, removed in (("events/a.parquet", []), ("events/b.parquet", ["events/a.parquet"] * 2)):
        change = LakeChange(lake, read_state(lake), "export")
        change.plan(path.replace("/", "-"), [path])
        assert planned_files(lake) == {path}
        change.added.append(AddedFile(path, 1, 100))
        change.removed += removed
        change.commit()
        assert planned_files(lake) == set()
    state = read_state(lake)
    assert (list(state.files), state.removed_names) == (["events/b.parquet"], {"a"})
