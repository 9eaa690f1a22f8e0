"""What came with a dump is known at once, what else is in its folder soon."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.stores import write
from tracehouse.ingest.sources.places import Folder
from tracehouse.ingest.watching import places as module
from tracehouse.ingest.watching.places import CurrentNames


def test_a_folder_that_takes_long_is_listed_seldom_and_own_files_are_seen_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, listed = [100.0], []
    slow = module.list_names

    def list_slowly(folder: Folder) -> frozenset[str] | None:
        listed.append(folder)
        now[0] += 2
        return slow(folder)

    monkeypatch.setattr(module, "list_names", list_slowly)
    names, folder = CurrentNames(lambda: now[0]), Folder(str(tmp_path))
    write(tmp_path / "only.etrecord", b"")
    names.begin([str(tmp_path / "a.etdp")])
    assert find(names, folder) == find(names, folder) == {"only.etrecord"}
    own = {"b.debug.bin", "b.json", "b.etdp.json", "b.etrecord.gz", "debug_output.bin.zst"}
    for name in own | {"other.etrecord"}:
        write(tmp_path / name, b"")
    names.begin([str(tmp_path / "a.etdp"), str(tmp_path / "b.etdp")])
    assert find(names, folder) == {"only.etrecord"} | own
    assert len(listed) == 1
    now[0] += 40
    names.begin([str(tmp_path / "a.etdp")])
    assert find(names, folder) == {"only.etrecord", "other.etrecord"} | own
    assert len(listed) == 2


def test_a_folder_that_is_gone_has_no_names(tmp_path: Path) -> None:
    names = CurrentNames()
    names.begin([])
    assert names.find(Folder(str(tmp_path / "gone"))) is None


def find(names: CurrentNames, folder: Folder) -> set[str]:
    files = names.find(folder)
    assert files is not None
    return set(files.by_name.values())
