"""Dumps that state different facts of one build: a store and its lake settle them alike."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.lakes import fill
from tests.support.stores import ingest, write, writing
from tests.support.tiny_dumps import tiny_dump
from tracehouse import Warehouse

FACTS = "SELECT name, branch, ordinal FROM builds"


def _stated(folder: Path, number: int, branch: str, ordinal: int) -> Path:
    build = {"id": "b", "branch": branch, "ordinal": ordinal}
    manifest = {"device": "d", "model": "m", "build": build}
    write(folder / f"{number}.json", json.dumps(manifest).encode())
    return write(folder / f"{number}.etdp", tiny_dump(number))


def _rows(warehouse: Warehouse, text: str) -> list[dict[str, object]]:
    return warehouse.sql(text).to_pylist()


@pytest.mark.slow
@pytest.mark.parametrize("is_together", [True, False])
def test_a_lake_resolves_conflicting_build_facts_as_its_store_does(
    tmp_path: Path, is_together: bool
) -> None:
    files = [_stated(tmp_path / "in", 1, "main", 0), _stated(tmp_path / "in", 2, "fork", 1)]
    for paths in [files] if is_together else [[file] for file in files]:
        ingest(tmp_path / "store", *paths)
    with writing(tmp_path / "store") as connection:
        fill(tmp_path / "lake", connection)
    with Warehouse.open(tmp_path / "store", read_only=True) as store:
        expected = _rows(store, FACTS)
        (row,) = [
            row
            for row in store.query("data_quality").to_pylist()
            if row["problem"] == "conflicting build"
        ]
    assert expected[0]["branch"] == ("fork" if is_together else "main")
    assert (row["dump_count"], row["of_count"]) == (1, 2)
    with Warehouse.open_lake(tmp_path / "lake") as lake:
        assert _rows(lake, FACTS) == expected
