from __future__ import annotations

from pathlib import Path

import pytest

from tracehouse.warehouse.errors import LakeError
from tracehouse.warehouse.lake.commits import (
    AddedFile,
    Commit,
    commit_path,
    merge_commits,
    new_id,
    read_state,
    write_commit,
)
from tracehouse.warehouse.lake.place import Lake


def file(name: str) -> AddedFile:
    return AddedFile(f"events/{name}.parquet", 1, 100)


def commit(id_: str, added: str = "", removed: str = "", folds: str = "") -> Commit:
    paths = [file(name).path for name in removed]
    return Commit(id_, [file(name) for name in added], paths, "export", list(folds))


def files(*commits: Commit) -> str:
    state = merge_commits({one.id: one for one in commits})
    return "".join(sorted(Path(path).stem for path in state.files))


def test_files_are_those_added_less_those_removed_in_whatever_order() -> None:
    assert files(commit("1", "ab"), commit("2", "c", "a")) == "bc"
    assert files(commit("2", "ab"), commit("1", "c", "a")) == "bc"


def test_the_later_of_two_commits_that_remove_the_same_file_is_void() -> None:
    assert files(commit("0", "ab"), commit("1", "c", "a"), commit("2", "d", "ab")) == "bc"
    assert files(commit("2", "d", "ab"), commit("0", "ab"), commit("1", "c", "a")) == "bc"


def test_a_folding_commit_replaces_those_it_folds_even_while_they_exist() -> None:
    first, second = commit("1", "ab"), commit("2", "c", "a")
    folded = commit("3", "bc", folds="12")
    assert files(first, second, folded) == files(first, folded) == files(folded) == "bc"


def test_a_commit_comes_back_as_it_was_written(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    written = Commit(new_id(), [AddedFile("dumps/x.parquet", 2, 50)], ["a"], "spark", ["f"])
    write_commit(lake, written)
    assert dict(read_state(lake).commits) == {written.id: written}
    assert [one.path for one in read_state(lake).of("dumps")] == ["dumps/x.parquet"]


def test_a_lake_without_commits_has_no_files(tmp_path: Path) -> None:
    assert dict(read_state(Lake(tmp_path / "none")).files) == {}


ABSURD = '{"added": [{"path": "a", "rows": 1e999, "bytes": 1}], "removed": [], "by": "x"}'


@pytest.mark.parametrize(
    "text",
    ["", "{}", '{"added": [{}], "removed": [], "by": "x"}', ABSURD, "[" * 100_000, "9" * 5_000],
    ids=range(6),
)
def test_a_malformed_commit_is_an_error_that_names_it(text: str, tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    path = commit_path(new_id())
    lake.write(path, text.encode())
    with pytest.raises(LakeError, match=f"{path} is damaged: restore it from a copy of the lake"):
        read_state(lake)
