from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.corpus import CORPUS, read_dump
from tests.support.etrecord_builder import MODELS
from tests.support.full_disk import full_disk
from tests.support.kills import kill_at
from tests.support.stores import COUNTERS, MANIFEST, contents, everything, ingest, write
from tracehouse import Warehouse
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.archive.entries import JUDGED
from tracehouse.warehouse.archive.rewriting import merge_segments
from tracehouse.warehouse.archive.verification import verify_archive
from tracehouse.warehouse.engine.store_file import FILE_NAME
from tracehouse.warehouse.errors import FullDiskError, StoreError
from tracehouse.warehouse.opening.status import read_status
from tracehouse.warehouse.upkeep.choice import choose_dumps
from tracehouse.warehouse.upkeep.compact import compact_store
from tracehouse.warehouse.upkeep.forget import find_kept_files, finish_forgetting, forget_dumps
from tracehouse.warehouse.upkeep.nights import JudgedNight
from tracehouse.warehouse.upkeep.rebuild import rebuild_store

NAMES = ("mixed_xnnpack_n20", "mixed_portable_n20", "multiout_portable_n3_debug")
OWN = {
    "device": "secret", "build": "secret_build", "model": "secret_model", "counters": COUNTERS,
}  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Dumps, the first two with the same ETRecord and the last with a debug buffer."""
    folder = tmp_path_factory.mktemp("files") / "in"
    for name in NAMES:
        write(folder / f"{name}.etdp", read_dump(f"real/{name}"))
        if name.startswith("mixed"):
            shutil.copy(MODELS / "mixed_xnnpack.etrecord", folder / f"{name}.etrecord")
    shutil.copy(CORPUS / f"real/{NAMES[2]}.debug.bin", folder)
    return folder


@pytest.fixture(scope="module")
def made(files: Path) -> Path:
    """A store in which the first and the last dump are of a device of their own."""
    made = files.parent / "store"
    for name in NAMES:
        facts = MANIFEST if name == NAMES[1] else OWN
        ingest(made, files / f"{name}.etdp", manifest=facts)
    assert ingest(made, files / f"{NAMES[0]}.etdp").n_conflicts == 1
    return made


def forget(store: Path, device: str = "secret") -> int:
    with Warehouse.open_to_write(store) as warehouse:
        dumps = choose_dumps(warehouse.writing, where={"device": device})
        forget_dumps(warehouse.writing, store, dumps)
    return len(dumps)


def archived(store: Path) -> set[str]:
    entries = Archive(store).entries(with_data=False)
    return {one.name for _, one in entries if one.byte_count is not None}


def test_forgetting_dumps_leaves_store_and_archive_as_without_them(
    store: Path, files: Path, tmp_path: Path
) -> None:
    count, before = len(list(Archive(store).entries(with_data=False))), archived(store)
    assert len(contents(store)["counters"]) == 6
    assert forget(store) == 2
    assert {Path(name).name for name in before - archived(store)} == {
        f"{NAMES[0]}.etdp", f"{NAMES[2]}.etdp", f"{NAMES[2]}.debug.bin",
    }  # fmt: skip
    left = list(Archive(store).entries(with_data=False))
    assert len(left) == count + 2
    assert "secret" not in "".join(str(one.manifest) for _, one in left)
    assert not any(one.problem for one in verify_archive(Archive(store)))
    ingest(tmp_path / "other", files / f"{NAMES[1]}.etdp")
    found, wanted = contents(store), contents(tmp_path / "other")
    numbered = {"dumps", "devices", "builds", "models", "forgotten_dumps"}
    per_dump = {name for name, rows in found.items() if name in numbered or rows != wanted[name]}
    assert [len(found[name]) for name in sorted(numbered)] == [1, 1, 1, 2, 1]
    for name in per_dump - {"forgotten_dumps"}:  # its number is another one
        assert len(found[name]) == len(wanted[name]), name
    assert found["ingest_errors"] == found["tensors"] == found["counters"] == []


def test_results_of_nights_are_erased_with_the_dumps_that_they_may_show(store: Path) -> None:
    night = JudgedNight("b1", "settings", "inputs", "clear", "secret: clear", b"secret")
    with Warehouse.open_to_write(store) as warehouse:
        warehouse.keep_night(night)
    assert JUDGED in {entry.kind for _, entry in Archive(store).entries(with_data=False)}
    forget(store)
    assert JUDGED not in {entry.kind for _, entry in Archive(store).entries(with_data=False)}
    assert contents(store)["judged_nights"] == []
    with Warehouse.open_to_write(store) as warehouse:
        warehouse.keep_night(night)
    rebuild_store(store)
    assert len(contents(store)["judged_nights"]) == 1


@pytest.mark.slow
@pytest.mark.parametrize("is_merged", [False, True])
def test_a_store_that_forgot_is_rebuilt_the_same(store: Path, is_merged: bool) -> None:
    if is_merged:
        merge_segments(Archive(store))
    forget(store)
    before = everything(store)
    assert all(table.is_equal for table in rebuild_store(store).tables)
    assert everything(store) == before
    assert not read_status(store).is_uncompacted  # no block holds what was forgotten


@pytest.mark.slow
def test_a_forgotten_dump_may_come_again_and_be_forgotten_again(store: Path, files: Path) -> None:
    forget(store)
    assert ingest(store, files / f"{NAMES[0]}.etdp", manifest=OWN).n_dumps == 1
    Warehouse.open_to_write(store).close()
    assert len(archived(store)) == 3
    assert all(table.is_equal for table in rebuild_store(store).tables)
    forget(store)
    assert len(contents(store)["forgotten_dumps"]) == 3
    assert all(table.is_equal for table in rebuild_store(store).tables)


@pytest.mark.system
@pytest.mark.slow
@pytest.mark.parametrize(
    "point",
    ["sealed:1", "committed:1", "seal:2", "delete segment:1", "delete segment:2", "erased:1"],
)
@pytest.mark.parametrize("is_rebuilt", [False, True])
def test_opening_a_store_completes_a_killed_forget(
    store: Path, point: str, is_rebuilt: bool
) -> None:
    whole = Path(shutil.copytree(store, store.with_name("whole")))
    forget(whole)
    kill_at(point, lambda: forget(store))
    if is_rebuilt:
        (store / FILE_NAME).unlink()
        rebuild_store(store)
    else:
        Warehouse.open_to_write(store).close()
    assert archived(store) == archived(whole)
    ours, theirs = contents(store), contents(whole)
    for rows in (ours, theirs):
        del rows["forgotten_dumps"]
    assert ours == theirs
    assert all(table.is_equal for table in rebuild_store(store).tables)


def test_snapshots_make_room_for_the_segments_that_are_written_anew(store: Path) -> None:
    write(store / "snapshots" / "1.duckdb", b"published")
    with full_disk(), pytest.raises(FullDiskError, match="bytes are needed, and 0 are free"):
        forget(store)
    assert list((store / "snapshots").iterdir()) == []
    Warehouse.open_to_write(store).close()
    assert f"{NAMES[0]}.etdp" not in {Path(name).name for name in archived(store)}


@pytest.mark.slow
def test_compaction_erases_forgotten_dumps_from_file_and_snapshots(store: Path) -> None:
    write(store / "snapshots" / "1.duckdb", b"published")
    write(store / f"{FILE_NAME}.old-1", b"put aside")
    assert b"secret_build" in (store / FILE_NAME).read_bytes()
    forget(store)
    compact_store(store)
    assert b"secret_build" not in (store / FILE_NAME).read_bytes()
    assert list((store / "snapshots").iterdir()) == []
    assert find_kept_files(store) == [store / f"{FILE_NAME}.old-1"]


@pytest.mark.slow
def test_a_forget_that_cannot_compact_names_the_command_that_completes_it(store: Path) -> None:
    assert not read_status(store).is_uncompacted
    forget(store)
    assert read_status(store).is_uncompacted
    with (
        Warehouse.open(store, read_only=True),
        pytest.raises(
            StoreError, match=r"locked by .* may contain them .* 'tracehouse store compact' is"
        ),
    ):
        finish_forgetting(lambda: compact_store(store))
    assert read_status(store).is_uncompacted
    finish_forgetting(lambda: compact_store(store))
    assert not read_status(store).is_uncompacted
