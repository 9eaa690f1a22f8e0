from __future__ import annotations

import gc
from pathlib import Path

import duckdb
import pytest

from ingest.dump import Dump
from ingest.found_dumps import FoundDumps
from ingest.manifest.resolver import Manifest
from tests.support.corpus import read_dump
from tests.support.etrecord_builder import MODELS
from tests.support.stores import MANIFEST, contents, ingest, write
from warehouse import Warehouse
from warehouse.engine.connection import open_cursor
from warehouse.load import batches
from warehouse.load import pipeline as ingestion

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


def test_an_etrecord_is_read_once_for_all_dumps_of_a_folder(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        write(tmp_path / f"{name}.etdp", name.encode())
    write(tmp_path / "net.etrecord", b"PK")
    files = {dump.etrecord for dump in FoundDumps([tmp_path], manifest=MANIFEST)}
    assert [file and file.name for file in files] == [str(tmp_path / "net.etrecord")]


def test_a_bad_path_is_refused_and_the_others_are_taken(tmp_path: Path) -> None:
    good = write(tmp_path / "a.etdp", read_dump("real/load_only"))
    summary = ingest(tmp_path / "store", tmp_path / "gone", good)
    assert (summary.n_files, summary.n_dumps) == (2, 1)
    assert [(r.source, r.reason) for r in summary.refused] == [
        (str(tmp_path / "gone"), "unreadable")
    ]
    write(tmp_path / "gone", read_dump("real/mixed_xnnpack_n20"))
    ingest(tmp_path / "store", tmp_path / "gone")
    with Warehouse.open(tmp_path / "store", read_only=True) as warehouse:
        assert warehouse.query("ingest_errors")["is_resolved"].to_pylist() == [True]


@pytest.mark.slow
def test_other_cursors_keep_their_threads_and_the_collector_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for i, name in enumerate(("load_only", "mixed_xnnpack_n20", "cnn_portable_n20")):
        write(tmp_path / f"in/{i}.etdp", read_dump(f"real/{name}"))
    monkeypatch.setattr(batches, "BATCH_FILES", 1)
    monkeypatch.setattr(ingestion, "COMMIT_EVENTS", 1)
    threads: list[object] = []
    with Warehouse.open(tmp_path / "store", create=True) as warehouse:
        assert warehouse._writer is not None
        cursor = open_cursor(warehouse._writer.connection)
        cursor.execute("SET threads = 3")

        def look(_: ingestion.IngestProgress) -> None:
            threads.append(setting(cursor))
            assert not gc.isenabled()
            if len(threads) == 3:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            warehouse.ingest([tmp_path / "in"], manifest=MANIFEST, progress=look)
        threads.append(setting(cursor))
        cursor.close()
    assert threads == [3, 3, 3, 3]
    assert gc.isenabled()


def setting(cursor: duckdb.DuckDBPyConnection) -> object:
    return cursor.execute("SELECT current_setting('threads')").fetchall()[0][0]


def conflicts(store: Path) -> list[tuple[str, bool]]:
    with Warehouse.open(store, read_only=True) as warehouse:
        rows = warehouse.query("ingest_errors").to_pylist()
    return [(row["reason"], row["is_resolved"]) for row in rows]


@pytest.mark.slow
def test_a_conflict_says_what_differs_and_stays_open_until_the_file_agrees(tmp_path: Path) -> None:
    path, store = write(tmp_path / "a.etdp", read_dump("real/load_only")), tmp_path / "store"
    ingest(store, path)
    other = {**MANIFEST, "device": "pixel9", "os": "android"}
    for _ in range(2):
        (refusal,) = ingest(store, path, manifest=other).refused
        wanted = "(device.name: 'pixel9' here, 'pixel8' there; device.os: 'android' here, nothing"
        assert wanted in refusal.detail
        assert "build" not in refusal.detail
        assert conflicts(store) == [("conflict", False)]
    copy = write(tmp_path / "b.etdp", path.read_bytes())
    ingest(store, copy)
    assert conflicts(store) == [("conflict", False)]
    ingest(store, path)
    assert conflicts(store) == [("settled_conflict", True)]
    ingest(store, path, manifest=other)
    assert sorted(conflicts(store)) == [("conflict", False), ("settled_conflict", True)]


def test_a_zip_that_was_refused_is_resolved_when_its_dumps_are_in(tmp_path: Path) -> None:
    path = write(tmp_path / "a.zip", b"no zip")
    write(tmp_path / "b.etdp", read_dump("real/load_only"))
    ingest(tmp_path / "store", path, tmp_path / "b.etdp")
    assert conflicts(tmp_path / "store") == [("unreadable", False)]
    write(path, zip_of(read_dump("real/mixed_xnnpack_n20")))
    ingest(tmp_path / "store", path)
    assert conflicts(tmp_path / "store") == [("unreadable", True)]


def zip_of(data: bytes) -> bytes:
    from tests.support.etrecord_builder import build_zip

    return build_zip({"x.etdp": data})
