from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.command import Run
from tests.support.corpus import CORPUS
from tracehouse import Warehouse
from tracehouse.warehouse.opening.snapshots import find_snapshots

DUMP = CORPUS / "real/load_only.etdp"
NAMES = ("--device", "d", "--build", "b", "--model", "m")
NOTE = r"note: answered from the snapshot of [-\d]{10} [:\d]{8}Z, which is \d+ s old: "


def test_a_snapshot_says_where_it_is(run: Run, farm_copy: Path) -> None:
    done = run("snapshot", "--store", farm_copy, "--format", "json")
    ((row),) = json.loads(done.text)
    assert (done.code, done.err) == (0, "")
    assert Path(row["path"]).parent == farm_copy / "snapshots"
    assert row["bytes"] == Path(row["path"]).stat().st_size


def test_so_many_snapshots_are_kept(run: Run, farm_copy: Path) -> None:
    for _ in range(2):
        done = run("snapshot", "--keep", 1, "--store", farm_copy, "--format", "json")
    ((row),) = json.loads(done.text)
    assert [one.path for one in find_snapshots(farm_copy)] == [Path(row["path"])]


@pytest.mark.slow
def test_an_answer_beside_a_writer_tells_the_age_of_its_snapshot(run: Run, farm_copy: Path) -> None:
    asked = (
        ("query", "dumps"),
        ("sql", "SELECT device FROM named_dumps ORDER BY 1"),
        ("schema", "dumps"),
    )
    before = [run(*args, "--store", farm_copy) for args in asked]
    assert {outcome.err for outcome in before} == {""}
    run("snapshot", "--store", farm_copy)
    with Warehouse.open_to_write(farm_copy):
        for args, alone in zip(asked, before, strict=True):
            beside = run(*args, "--store", farm_copy)
            assert (beside.code, beside.out) == (0, alone.out)
            assert re.fullmatch(f"{NOTE}another process has the store open", beside.error)
        assert "locked by process" in run("snapshot", "--store", farm_copy).error


def test_an_ingest_publishes_a_snapshot_when_it_is_asked_to(run: Run, farm_copy: Path) -> None:
    assert run("ingest", DUMP, *NAMES, "--store", farm_copy).code == 0
    assert not (farm_copy / "snapshots").exists()
    assert run("ingest", DUMP, *NAMES, "--snapshot", "--store", farm_copy).code == 0
    assert len(list((farm_copy / "snapshots").glob("*.duckdb"))) == 1


def test_a_snapshot_of_no_store_makes_none(run: Run, tmp_path: Path) -> None:
    done = run("snapshot", "--store", tmp_path / "none")
    assert (done.code, list(tmp_path.iterdir())) == (1, [])
    assert "no store here" in done.error


def test_an_answer_from_the_snapshot_of_a_damaged_store_says_so(run: Run, farm_copy: Path) -> None:
    before = run("query", "dumps", "--store", farm_copy)
    run("snapshot", "--store", farm_copy)
    (farm_copy / "warehouse.duckdb").unlink()
    done = run("query", "dumps", "--store", farm_copy)
    assert (done.code, done.out) == (0, before.out)
    told = NOTE + r"warehouse.duckdb is gone; .* 'tracehouse rebuild'"
    assert re.fullmatch(told, done.error)
