from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.corpus import CORPUS, read_dump
from tests.support.etrecord_builder import MODELS
from tests.support.kills import kill_at
from tests.support.stores import COUNTERS, MANIFEST, everything, ingest, write
from tracehouse import Warehouse
from tracehouse.warehouse.errors import QueryError
from tracehouse.warehouse.upkeep.amend import amend_manifests, parse_corrections, plan_amendments
from tracehouse.warehouse.upkeep.choice import choose_dumps
from tracehouse.warehouse.upkeep.nights import JudgedNight
from tracehouse.warehouse.upkeep.rebuild import rebuild_store
from tracehouse.warehouse.upkeep.reload import ReloadedDump, reload_dumps
from tracehouse.warehouse.upkeep.retain import drop_old_events, find_old_events

NAMES = ("mixed_xnnpack_n20", "mixed_portable_n20", "multiout_portable_n3_debug")
_SPOILT = (
    "UPDATE events SET duration_ticks = duration_ticks + 1 WHERE dump_id = 1",
    "DELETE FROM event_stats WHERE dump_id = 1",
    "UPDATE dumps SET n_events = 7 WHERE dump_id = 1",
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of dumps that changed: with later companions, corrected, without events."""
    folder = tmp_path_factory.mktemp("made")
    for number, name in enumerate(NAMES):
        file = write(folder / name / f"{name}.etdp", read_dump(f"real/{name}"))
        facts = {**MANIFEST, "build": f"b{number}", "counters": COUNTERS}
        ingest(folder / "store", file, manifest=facts)
        if name.startswith("mixed"):
            shutil.copy(MODELS / "mixed_xnnpack.etrecord", file.with_suffix(".etrecord"))
        else:
            shutil.copy(CORPUS / f"real/{name}.debug.bin", file.parent)
        ingest(folder / "store", file, manifest=facts)
    with Warehouse.open_to_write(folder / "store") as warehouse:
        writing = warehouse.writing
        chosen = choose_dumps(writing, where={"build": "b0"})
        planned = plan_amendments(writing, chosen, parse_corrections(["build=c0", "device=d"]))
        amend_manifests(writing, folder / "store", planned)
        old = find_old_events(writing, days=0, kept_builds="[bc]0")
        drop_old_events(writing, folder / "store", old)
    return folder / "store"


def reload(store: Path, where: dict[str, str]) -> Sequence[ReloadedDump]:
    with Warehouse.open_to_write(store) as warehouse:
        chosen = choose_dumps(warehouse.writing, where=where)
        return reload_dumps(warehouse.writing, store, chosen)


def test_rows_of_dumps_that_changed_are_rebuilt_the_same(store: Path) -> None:
    before = everything(store)
    done = reload(store, {"model": str(MANIFEST["model"])})
    assert [(one.dump_id, one.changed_tables) for one in done] == [(1, ""), (2, ""), (3, "")]
    assert everything(store) == before
    assert all(table.is_equal for table in rebuild_store(store).tables)


def test_wrong_rows_are_mended_and_named_and_those_of_others_stay(store: Path) -> None:
    before = everything(store)
    with Warehouse.open_to_write(store) as warehouse:
        for text in _SPOILT:
            warehouse.writing.execute(text)
    spoilt = everything(store)
    (other,) = reload(store, {"build": "b1"})
    assert (other.changed_tables, everything(store) == spoilt) == ("", True)
    (mended,) = reload(store, {"build": "c0"})
    assert mended.changed_tables == "dumps, events, event_stats"
    assert everything(store) == before


def test_reports_of_nights_are_deleted_and_stay_so_after_a_rebuild(store: Path) -> None:
    with Warehouse.open_to_write(store) as warehouse:
        warehouse.keep_night(JudgedNight("b1", "settings", "inputs", "clear", "clear", b"wrong"))
    reload(store, {"build": "c0"})
    for _ in range(2):
        with Warehouse.open(store, read_only=True) as warehouse:
            assert warehouse.sql("SELECT * FROM judged_nights").num_rows == 0
        rebuild_store(store)


@pytest.mark.system
@pytest.mark.parametrize("point", ["decoded:1", "commit:1", "committed:1"])
def test_a_kill_leaves_every_dump_whole(store: Path, point: str) -> None:
    before = everything(store)
    kill_at(point, lambda: reload(store, {"model": str(MANIFEST["model"])}))
    assert everything(store) == before


def test_a_dump_that_was_not_archived_is_named(tmp_path: Path) -> None:
    file = write(tmp_path / "a.etdp", read_dump(f"real/{NAMES[0]}"))
    ingest(tmp_path / "store", file, archive=False)
    with pytest.raises(QueryError, match=r"a\.etdp: not in the archive: ingest its files again"):
        reload(tmp_path / "store", {"model": str(MANIFEST["model"])})


def test_a_dump_comes_into_the_archive_only_with_its_companion(tmp_path: Path) -> None:
    store, file = tmp_path / "store", tmp_path / "a.etdp"
    write(file, read_dump(f"real/{NAMES[0]}"))
    record = file.with_suffix(".etrecord")
    shutil.copy(MODELS / "mixed_xnnpack.etrecord", record)
    ingest(store, file, archive=False)
    record.unlink()
    assert ingest(store, file).n_duplicates == 1
    with pytest.raises(QueryError, match=r"a\.etdp: not in the archive: ingest its files again"):
        reload(store, {"model": str(MANIFEST["model"])})
    shutil.copy(MODELS / "mixed_xnnpack.etrecord", record)
    assert ingest(store, file).n_duplicates == 1
    before = everything(store)
    (done,) = reload(store, {"model": str(MANIFEST["model"])})
    assert (done.changed_tables, everything(store)) == ("", before)
