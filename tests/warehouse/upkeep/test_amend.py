from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpus import read_dump
from tests.support.etrecord_builder import MODELS
from tests.support.stores import COUNTERS, MANIFEST, contents, everything, ingest, write
from tracehouse import Warehouse
from tracehouse.ingest.errors import ManifestError
from tracehouse.warehouse.errors import QueryError
from tracehouse.warehouse.upkeep.amend import amend_manifests, parse_corrections, plan_amendments
from tracehouse.warehouse.upkeep.choice import choose_dumps
from tracehouse.warehouse.upkeep.rebuild import rebuild_store

NAMES = ("mixed_portable_n20", "mixed_xnnpack_n20")
WRONG: dict[str, Any] = {
    "device": {"name": "pixle8", "os": "Android"},
    "build": {"id": "b2", "commit": "c0"},
    "model": "mv1",
    "clock": "us",
    "captured_at": "2026-01-01",
    "counters": [{"name": "energy", "value": 1}],
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("files")
    return [write(folder / f"{name}.etdp", read_dump(f"real/{name}")) for name in NAMES]


@pytest.fixture(scope="module")
def made(files: list[Path]) -> Path:
    """The first dump was ingested wrongly, the second as it should be."""
    made = files[0].with_name("store")
    ingest(made, files[0], manifest=WRONG)
    ingest(made, files[1])
    return made


def amend(store: Path, *stated: str, **where: str) -> int:
    with Warehouse.open_to_write(store) as warehouse:
        dumps = choose_dumps(warehouse.writing, where=where or {"device": "pixle8"})
        planned = plan_amendments(warehouse.writing, dumps, parse_corrections(stated))
        amend_manifests(warehouse.writing, store, planned)
    return len(planned)


@pytest.mark.slow
def test_an_amended_store_is_as_if_all_had_been_ingested_rightly(
    store: Path, files: list[Path], tmp_path: Path
) -> None:
    right = ("device=pixel8", "os=", "build=b1", "commit=", "model=mv2", "clock=ns", "captured_at=",
             "counters=")  # fmt: skip
    assert amend(store, *right) == 1
    assert amend(store, *right, device="pixel8") == 0
    ingest(tmp_path / "other", *files)
    found, wanted = contents(store), contents(tmp_path / "other")
    ids = {"device_id", "build_id", "model_id"}
    for name in wanted.keys() - {"dumps", "devices", "builds", "models", "build_order"}:
        assert found[name] == wanted[name], name  # but for rows with other ids
    question = "SELECT * EXCLUDE (ingested_at) FROM named_dumps ORDER BY sha256"
    with Warehouse.open_to_write(store) as ours, Warehouse.open(tmp_path / "other") as theirs:
        assert ours.sql(question).to_pylist() == theirs.sql(question).to_pylist()
        assert [ours.sql(f"SELECT 1 FROM {name[:-3]}s").num_rows for name in ids] == [1, 1, 1]  # noqa: S608


def test_a_build_loses_facts_that_only_a_corrected_manifest_stated(store: Path) -> None:
    amend(store, "build=b1", "commit=c1")
    amend(store, "commit=c2")
    with Warehouse.open_to_write(store) as warehouse:
        builds = warehouse.sql("SELECT name, commit FROM builds").to_pylist()
    assert builds == [{"name": "b1", "commit": "c2"}]


@pytest.mark.slow
def test_facts_can_be_stated_later_and_withdrawn_and_are_rebuilt(store: Path) -> None:
    facts = "build_parent, build_role, governor, threads, temperature_c, firmware, session, pair"
    stated = ("build.parent=b0", "role=reference", "governor=performance", "run.threads=4",
              "temperature_c=40.5", "firmware=7", "session=s1", "run.pair=4", "device.pool=lab",
              "model.backend=xnnpack", f"counters={json.dumps(COUNTERS)}")  # fmt: skip
    assert amend(store, *stated) == 1
    with Warehouse.open(store, read_only=True) as warehouse:
        found = warehouse.sql(f"SELECT {facts} FROM named_dumps ORDER BY dump_id").to_pylist()  # noqa: S608
        counters = warehouse.sql("SELECT dump_id, run_index, name, unit, value FROM counters")
    assert list(found[0].values()) == ["b0", "reference", "performance", 4, 40.5, "7", "s1", "4"]
    assert set(found[1].values()) == {None}
    assert {tuple(row.values()) for row in counters.to_pylist()} == {
        (1, 1, "cycles", "count", 5000.0), (1, 2, "cycles", "count", 7.0),
        (1, None, "energy", "mJ", 812.5),
    }  # fmt: skip
    before = everything(store)
    assert all(table.is_equal for table in rebuild_store(store).tables)
    assert everything(store) == before
    assert amend(store, *(f"{one.partition('=')[0]}=" for one in stated)) == 1
    with Warehouse.open(store, read_only=True) as warehouse:
        found = warehouse.sql(f"SELECT {facts} FROM named_dumps").to_pylist()  # noqa: S608
        assert warehouse.sql("SELECT 1 FROM counters").num_rows == 0
    assert {fact for row in found for fact in row.values()} == {None}


def test_a_conflict_is_settled_once_the_manifests_agree(store: Path, files: list[Path]) -> None:
    refused = ingest(store, files[0]).refused[0]
    assert (
        f"'tracehouse store amend --dump {refused.sha256[:12]} --set FIELD=VALUE'" in refused.detail
    )
    amend(store, *(f"{name}={MANIFEST[name]}" for name in MANIFEST), "os=", "commit=", "clock=ns")
    amend(store, "captured_at=", "counters=", device="pixel8", model="mv2")
    assert ingest(store, files[0]).n_duplicates == 1
    with Warehouse.open_to_write(store) as warehouse:
        reasons = warehouse.sql("SELECT reason FROM ingest_errors")["reason"].to_pylist()
    assert reasons == ["settled_conflict"]


def test_a_malformed_correction_is_an_error(store: Path) -> None:
    for stated, problem in {
        "build": "--set: found 'build', wanted FIELD=VALUE",
        "biuld=1": "--set: no field 'biuld'; e.g. build, device.os or tags.NAME",
        "build=": "--set: build: found nothing, wanted a name",
        "clock=years": "--set: clock.unit: found 'years', wanted 'ns'",
        "ordinal=x": "--set: build.ordinal: found 'x', wanted a valid integer",
        "counters=5 mJ": "--set: counters: found '5 mJ', wanted a valid list",
    }.items():
        with pytest.raises(ManifestError, match=problem):
            amend(store, stated)


def test_the_method_of_a_dump_with_an_etrecord_is_not_amended(
    store: Path, files: list[Path], tmp_path: Path
) -> None:
    dump = Path(shutil.copy(files[1], tmp_path))
    shutil.copy(MODELS / "mixed_xnnpack.etrecord", dump.with_suffix(".etrecord"))
    ingest(store, dump)
    with pytest.raises(QueryError, match="forget the dump with 'tracehouse store forget'"):
        amend(store, "method=forward", device="pixel8")
    assert amend(store, "method=forward") == 1
