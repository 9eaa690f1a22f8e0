from __future__ import annotations

import shutil
import sys
import zipfile
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.support.corpus import CORPUS
from tests.support.cross_section import cross_section
from tests.support.etrecord_builder import MODELS
from tracehouse import Warehouse
from tracehouse.ingest.sources.places import Source
from tracehouse.warehouse.errors import QueryError
from tracehouse.warehouse.programs.exported_programs import pick_exported_program

DUMP = CORPUS / "real" / "cnn_xnnpack_n20.etdp"
RECORD = MODELS / "cnn_xnnpack.etrecord"


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """What ExecuTorch would read in any ETRecord; texts stand for ExportedPrograms."""
    record = SimpleNamespace(
        edge_dialect_program="edge", exported_program=None, graph_map={"aten/decode": "aten"}
    )
    devtools = ModuleType("executorch.devtools")
    devtools.parse_etrecord = lambda file: record  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "executorch", ModuleType("executorch"))
    monkeypatch.setitem(sys.modules, "executorch.devtools", devtools)
    return record


def read(graph: str) -> Any:
    return pick_exported_program(RECORD.read_bytes(), str(RECORD), graph=graph)


def test_graphs_are_named_as_in_our_tables(parsed):
    assert read("edge_dialect_exported_program") == "edge"
    assert read("edge_dialect_exported_program/forward") == "edge"
    assert read("aten/decode") == "aten"


def test_methods_are_told_apart(parsed):
    parsed.edge_dialect_program = {"prefill": "first", "decode": "second"}
    assert read("edge_dialect_exported_program/decode") == "second"
    with pytest.raises(QueryError, match="no graph 'edge_dialect_exported_program'; did you mean"):
        read("edge_dialect_exported_program")


def test_an_unknown_graph_is_reported_with_the_known_ones(parsed):
    with pytest.raises(QueryError, match="no graph 'exported_program'; did you mean"):
        read("exported_program")


@pytest.mark.parametrize("where", cross_section(["file", "zip"], 2))
def test_store_finds_the_etrecord_by_its_id_or_a_dump_and_in_its_archive(parsed, tmp_path, where):
    record = _zipped(tmp_path) if where == "zip" else shutil.copy(RECORD, tmp_path)
    with Warehouse.open(tmp_path / "store", create=True) as store:
        store.ingest([DUMP], manifest=_NAMES, etrecord=record)
        if where == "file":
            (tmp_path / RECORD.name).unlink()
        assert store.exported_program(dump_id=1) == "edge"
        (row,) = store.sql("SELECT etrecord_id FROM etrecords").to_pylist()
        assert store.exported_program(row["etrecord_id"], graph="aten/decode") == "aten"


def test_an_etrecord_that_the_archive_lost_is_reported(parsed, tmp_path):
    with Warehouse.open(tmp_path / "store", create=True) as store:
        store.ingest([DUMP], manifest=_NAMES, etrecord=RECORD)
    for segment in (tmp_path / "store" / "archive").glob("*.parquet"):
        segment.unlink()
    with (
        Warehouse.open(tmp_path / "store") as store,
        pytest.raises(QueryError, match=r"\.etrecord: not in the archive: ingest it again"),
    ):
        store.exported_program(dump_id=1)


def test_ids_are_checked(parsed, tmp_path):
    with Warehouse.open(tmp_path / "store", create=True) as store:
        store.ingest([DUMP], manifest=_NAMES)
        with pytest.raises(QueryError, match="the store has no ETRecord of a dump 1"):
            store.exported_program(dump_id=1)
        with pytest.raises(QueryError, match="the store has no ETRecord 5"):
            store.exported_program(5)
        for ids in ({}, {"etrecord_id": 5, "dump_id": 1}):
            with pytest.raises(QueryError, match="wanted exactly one of etrecord_id and dump_id"):
                store.exported_program(**ids)


def test_executorch_s_faults_name_the_file(parsed, monkeypatch):
    def refuse(file: object) -> None:
        raise RuntimeError("Invalid etrecord\nfile")

    monkeypatch.setattr(sys.modules["executorch.devtools"], "parse_etrecord", refuse)
    with pytest.raises(QueryError, match=r"\.etrecord: ExecuTorch cannot read it: Invalid etrec"):
        read("exported_program")


def test_reading_a_program_without_executorch_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "executorch", None)
    with pytest.raises(QueryError, match=r"pip install '\.\[executorch\]' in a checkout"):
        read("exported_program")


_NAMES = {"device": "d", "build": "b", "model": "m"}


def _zipped(folder: Path) -> Source:
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        archive.write(RECORD, "inner/a.etrecord")
    return Source(str(folder / "a.zip"), "inner/a.etrecord")
