from __future__ import annotations

import gc
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpus import CORPUS, read_dump
from tests.support.etrecord_builder import MODELS, build_zip
from tests.support.stores import MANIFEST, contents, ingest, write
from tests.support.tiny_dumps import tiny_dump
from tracehouse import Warehouse
from tracehouse.ingest import decode
from tracehouse.ingest.dump import Dump, FoundDumps
from tracehouse.ingest.manifest.resolver import Manifest
from tracehouse.warehouse.errors import StoreError
from tracehouse.warehouse.load import batches, stored_events
from tracehouse.warehouse.load import pipeline as ingestion

RECORD = MODELS / "mixed_xnnpack.etrecord"


@pytest.mark.slow
def test_dumps_in_memory_come_in_as_those_at_paths_do(tmp_path: Path) -> None:
    data = read_dump("real/mixed_xnnpack_n20")
    path = write(tmp_path / "a.etdp", data)
    ingest(tmp_path / "paths", path, etrecord=RECORD)
    dump = Dump.of_bytes(
        str(path), data, Manifest.model_validate(MANIFEST), etrecord=RECORD.read_bytes()
    )
    with Warehouse.open(tmp_path / "memory", create=True) as warehouse:
        assert warehouse.ingest([dump]).n_dumps == 1
        with pytest.raises(TypeError, match="wanted either"):
            warehouse.ingest([dump, path])  # type: ignore[list-item]
    stored, expected = contents(tmp_path / "memory"), contents(tmp_path / "paths")
    assert stored.pop("etrecords") != expected.pop("etrecords")  # they tell where it was read
    assert stored == expected


def test_ingest_takes_a_single_path_or_dump_without_a_list(tmp_path: Path) -> None:
    file = write(tmp_path / "in" / "a.etdp", read_dump("real/mixed_xnnpack_n20"))
    dump = Dump.of_bytes("b.etdp", tiny_dump(1), Manifest.model_validate(MANIFEST))
    with Warehouse.open(tmp_path / "store", create=True) as warehouse:
        assert warehouse.ingest(str(tmp_path / "in"), manifest=MANIFEST).n_dumps == 1
        assert warehouse.ingest(file, manifest=MANIFEST).n_duplicates == 1
        assert warehouse.ingest(dump).n_dumps == 1


def test_an_etrecord_is_read_once_for_all_dumps_of_a_folder(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        write(tmp_path / f"{name}.etdp", name.encode())
    write(tmp_path / "net.etrecord", b"PK")
    files = {dump.etrecord for dump in FoundDumps([tmp_path], manifest=MANIFEST)}
    assert [file and file.name for file in files] == [str(tmp_path / "net.etrecord")]


def test_a_bad_path_is_refused_and_the_others_are_taken(store: Path, tmp_path: Path) -> None:
    good, bad = write(tmp_path / "a.etdp", tiny_dump(1)), tmp_path / "gone"
    with Warehouse.open(store) as warehouse:
        summary = warehouse.ingest([bad, good], manifest=MANIFEST)
        assert (summary.n_files, summary.n_dumps) == (2, 1)
        assert [(r.source, r.reason) for r in summary.refused] == [(str(bad), "unreadable")]
        write(bad, tiny_dump(2))
        warehouse.ingest([bad], manifest=MANIFEST)
        assert conflicts(warehouse) == [("unreadable", True)]


@pytest.mark.slow
def test_ingest_keeps_other_cursors_threads_and_restores_the_garbage_collector(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for i in range(3):
        write(tmp_path / f"in/{i}.etdp", tiny_dump(i))
    monkeypatch.setattr(batches, "BATCH_FILES", 1)
    monkeypatch.setattr(ingestion, "COMMIT_EVENTS", 1)
    threads: list[object] = []
    with Warehouse.open(store) as warehouse, warehouse.writing.cursor() as cursor:
        cursor.execute("SET threads = 3")

        def look(_: ingestion.IngestProgress) -> None:
            threads.extend(cursor.execute("SELECT current_setting('threads')").fetchall())
            assert not gc.isenabled()
            if len(threads) == 3:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            warehouse.ingest([tmp_path / "in"], manifest=MANIFEST, progress=look)
        threads.extend(cursor.execute("SELECT current_setting('threads')").fetchall())
    assert threads == [(3,)] * 4
    assert gc.isenabled()


def conflicts(warehouse: Warehouse) -> list[tuple[str, bool]]:
    rows = warehouse.query("ingest_errors").to_pylist()
    return [(row["reason"], row["is_resolved"]) for row in rows]


def test_a_conflict_says_what_differs_and_stays_open_until_the_file_agrees(
    store: Path, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.etdp", read_dump("real/load_only"))
    copy = write(tmp_path / "b.etdp", path.read_bytes())
    other = {**MANIFEST, "device": "pixel9", "os": "android"}
    with Warehouse.open(store) as warehouse:
        warehouse.ingest([path], manifest=MANIFEST)
        for _ in range(2):
            summary = warehouse.ingest([path], manifest=other)
            assert (summary.n_dumps, summary.n_conflicts) == (0, 1)
        (refusal,) = summary.refused
        wanted = "(device.name: 'pixel9' here, 'pixel8' there; device.os: 'android' here, nothing"
        assert wanted in refusal.detail
        assert "build" not in refusal.detail
        assert warehouse.query("dumps")["device"].to_pylist() == ["pixel8"]
        warehouse.ingest([copy], manifest=MANIFEST)
        assert conflicts(warehouse) == [("conflict", False)]
        warehouse.ingest([path], manifest=MANIFEST)
        assert conflicts(warehouse) == [("settled_conflict", True)]
        warehouse.ingest([path], manifest=other)
        assert sorted(conflicts(warehouse)) == [("conflict", False), ("settled_conflict", True)]


def test_a_zip_that_was_refused_is_resolved_when_its_dumps_are_in(
    store: Path, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.zip", b"no zip")
    dump = write(tmp_path / "b.etdp", tiny_dump(1))
    with Warehouse.open(store) as warehouse:
        warehouse.ingest([path, dump], manifest=MANIFEST)
        assert conflicts(warehouse) == [("unreadable", False)]
        write(path, build_zip({"x.etdp": tiny_dump(2)}))
        warehouse.ingest([path], manifest=MANIFEST)
        assert conflicts(warehouse) == [("unreadable", True)]


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on every dump is decoded and stored in small parts."""
    monkeypatch.setattr(ingestion, "STREAM_BYTES", 1)
    monkeypatch.setattr(batches, "BATCH_FILES", 1)
    monkeypatch.setattr(decode, "ARENA_BYTES", 512)
    monkeypatch.setattr(stored_events, "_MOST_EVENTS", 100)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Dumps with ETRecords, debug buffers, or neither."""
    folder = tmp_path / "in"
    for name in (
        "mixed_xnnpack_n20", "traced_str_n20", "stateful_portable_n3_debug",
        "dyn_portable_shapes_debug",
    ):  # fmt: skip
        write(folder / f"{name}.etdp", read_dump(f"real/{name}"))
        if name.endswith("_debug"):
            shutil.copy(CORPUS / f"real/{name}.debug.bin", folder)
    shutil.copy(RECORD, folder / "mixed_xnnpack_n20.etrecord")
    return folder


@pytest.mark.slow
def test_a_big_dump_is_stored_in_parts_with_the_same_result(
    tmp_path: Path, folder: Path, request: pytest.FixtureRequest
) -> None:
    ingest(tmp_path / "whole", folder)
    request.getfixturevalue("parts")
    summary = ingest(tmp_path / "parts", folder)
    assert (summary.n_dumps, summary.n_duplicates, summary.refused) == (4, 0, ())
    stored = contents(tmp_path / "parts")
    assert stored == contents(tmp_path / "whole")
    assert stored["event_origins"]
    assert stored["tensors"]


@pytest.mark.slow
def test_a_malformed_big_dump_leaves_no_rows(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """What it has in common with the next dump comes in with that one, traced to its ETRecord."""
    good = read_dump("real/mixed_xnnpack_n20")
    bad = bytearray(good)
    bad[-300:-292] = b"\xff" * 8  # in the first run, which stands last
    write(tmp_path / "in/a.etdp", bytes(bad))
    write(tmp_path / "in/b.etdp", good)
    shutil.copy(RECORD, tmp_path / "in/net.etrecord")
    ingest(tmp_path / "whole", tmp_path / "in")
    request.getfixturevalue("parts")
    summary = ingest(tmp_path / "parts", tmp_path / "in")
    assert (summary.n_dumps, [r.byte_offset is None for r in summary.refused]) == (1, [False])
    stored = contents(tmp_path / "parts")
    assert stored == contents(tmp_path / "whole")
    assert stored["event_origins"]


def test_dumps_of_a_commit_that_failed_in_the_end_are_known_to_the_open_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.etdp", read_dump("real/load_only"))
    commit = ingestion.Committer.commit

    def commit_and_fail(*given: Any) -> None:
        commit(*given)
        raise StoreError("here", "the disk is full")

    with Warehouse.open(tmp_path / "store", create=True) as warehouse:
        with monkeypatch.context() as patched:
            patched.setattr(ingestion.Committer, "commit", commit_and_fail)
            with pytest.raises(StoreError):
                warehouse.ingest([path], manifest=MANIFEST)
        summary = warehouse.ingest([path], manifest=MANIFEST)
    assert (summary.n_dumps, summary.n_duplicates) == (0, 1)


def test_companions_that_come_later_are_attached_as_if_they_had_been_there(
    tmp_path: Path, folder: Path
) -> None:
    ingest(tmp_path / "whole", folder)
    companions = [path for path in folder.iterdir() if path.suffix != ".etdp"]
    for path in companions:
        path.rename(tmp_path / path.name)
    ingest(tmp_path / "store", folder)
    assert contents(tmp_path / "store")["tensors"] == []
    for path in companions:
        (tmp_path / path.name).rename(path)
    summary = ingest(tmp_path / "store", folder)
    assert (summary.n_dumps, summary.n_duplicates, summary.refused) == (0, 4, ())
    whole = contents(tmp_path / "whole")
    assert contents(tmp_path / "store") == whole
    for path in companions:
        path.unlink()
    ingest(tmp_path / "store", folder)  # nothing is taken from dumps that come without them
    assert contents(tmp_path / "store") == whole


@pytest.mark.slow
def test_companions_in_a_zip_artifact_are_found(tmp_path: Path, folder: Path) -> None:
    with zipfile.ZipFile(tmp_path / "artifact.zip", "w", zipfile.ZIP_DEFLATED) as file:
        for path in folder.iterdir():
            file.write(path, f"job/{path.name}")
    ingest(tmp_path / "whole", folder)
    ingest(tmp_path / "store", tmp_path / "artifact.zip")
    stored, whole = contents(tmp_path / "store"), contents(tmp_path / "whole")
    for table in ("graph_nodes", "event_origins", "event_modules", "debug_values", "tensors"):
        assert stored[table] == whole[table] != []
