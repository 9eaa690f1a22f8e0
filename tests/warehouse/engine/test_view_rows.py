from __future__ import annotations

import random
import shutil
from pathlib import Path

import duckdb
import pytest

from tests.support.cross_section import cross_section
from tests.support.planted import verified
from tests.support.traced_farm import Step, traced_dump
from tracehouse import Dump, Manifest, Warehouse
from tracehouse.warehouse.catalogue.views import view_text
from tracehouse.warehouse.engine.connection import register_temporarily
from tracehouse.warehouse.engine.view_rows import KEPT, VIEW, _align_operators, find_kept_views
from tracehouse.warehouse.upkeep.amend import amend_manifests, parse_corrections, plan_amendments
from tracehouse.warehouse.upkeep.choice import choose_dumps
from tracehouse.warehouse.upkeep.forget import forget_dumps

VIEWS = ("named_event_signatures", "named_run_signatures", "program_events", "aligned_operators")
_MM, _RELU = Step("native_call_mm.out", 50_000), Step("native_call_relu.out", 9_000)
PROGRAMS = ([_MM, _MM], [_RELU, _MM, _MM], [_MM, _RELU], [_MM])


_DIFFERENT = """
(FROM rows_of_{0} EXCEPT ALL FROM ({1})) UNION ALL (FROM ({1}) EXCEPT ALL FROM rows_of_{0})
LIMIT 1"""


def find_wrong_rows(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """The views whose kept rows are others than they work out now."""
    with register_temporarily(connection, "aligned", _align_operators(connection, {})):
        texts = {view: view_text(view) for view in KEPT} | {VIEW: "FROM aligned"}
        return {
            view
            for view, text in texts.items()
            if connection.execute(_DIFFERENT.format(view, text)).fetchall()
        }


def add_dump(store: Warehouse, choice: random.Random, build: int) -> None:
    """A dump of one of few devices, models and programs; builds may come in another order."""
    program = choice.choice(PROGRAMS)
    manifest = Manifest.model_validate(
        {
            "device": {"name": f"d{choice.randrange(3)}", "pool": choice.choice([None, "p"])},
            "build": {"id": f"b{build}", "ordinal": build},
            "model": {"name": f"m{choice.randrange(2)}", "backend": choice.choice([None, "x"])},
        }
    )
    data = traced_dump(program, seed=choice.randrange(1 << 30))
    store.ingest([Dump.of_bytes(f"{choice.random()}.etdp", data, manifest)])


def change(store: Warehouse, path: Path, choice: random.Random, night: int) -> None:
    """What a night brings: new dumps, now and then of an older build, a correction or a loss."""
    for _ in range(choice.randrange(1, 4)):
        add_dump(store, choice, choice.choice([night, night, night, choice.randrange(night + 1)]))
    where = {"build": f"b{choice.randrange(night + 1)}"}
    if night % 4 == 3:
        chosen = choose_dumps(store.writing, where=where)
        if choice.random() < 0.5:
            corrections = parse_corrections([f"device=d{choice.randrange(4)}"])
            amend_manifests(
                store.writing, path, plan_amendments(store.writing, chosen, corrections)
            )
        else:
            forget_dumps(store.writing, path, chosen)


@pytest.mark.parametrize(
    ("seed", "nights"), cross_section([(1, 4), *((seed, 8) for seed in range(4))], 5)
)
def test_kept_rows_are_those_of_the_views_whatever_happens(
    tmp_path: Path, seed: int, nights: int
) -> None:
    choice, path = random.Random(seed), tmp_path / "store"  # noqa: S311
    for night in range(nights):  # the last of four has a correction or a loss
        with Warehouse.open(path, create=True) as store:
            change(store, path, choice, night)
        with Warehouse.open_to_write(path) as store:
            assert find_kept_views(store.writing).keys() == set(VIEWS)
            assert find_wrong_rows(store.writing) == set()
    with duckdb.connect(str(path / "warehouse.duckdb"), read_only=True) as plain:
        counts = [plain.sql(f"FROM rows_of_{view}").fetchall() for view in VIEWS]
    assert all(counts)  # also operators of older programs, which were aligned


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "store"
    with Warehouse.open(path, create=True) as store:
        for build in range(8):
            add_dump(store, random.Random(build), build)  # noqa: S311
    return path


@pytest.fixture
def path(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "store"))


def kept_names(path: Path) -> set[str]:
    """The names of runs that a reader sees, where all kept ones were changed."""
    with duckdb.connect(str(path / "warehouse.duckdb")) as plain:
        plain.execute("UPDATE rows_of_named_run_signatures SET run = 'kept'")
    with Warehouse.open(path, read_only=True) as store:
        return set(store.query("percentiles")["run"].to_pylist())


def test_readers_take_kept_rows_and_do_not_work_them_out(path: Path) -> None:
    assert kept_names(path) == {"kept"}


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE dumps SET model_id = 3 - model_id",
        "DELETE FROM dumps WHERE dump_id = 1",
        "UPDATE dumps SET etrecord_id = 7 WHERE dump_id = 1",
        "INSERT INTO dumps SELECT * REPLACE (99 AS dump_id) FROM dumps LIMIT 1",
        "UPDATE build_order SET position = -position",
        "UPDATE devices SET name = 'x' || name",
        "UPDATE view_rows_state SET views = 'of another version'",
        "DELETE FROM view_rows_state",
    ],
)
def test_kept_view_rows_of_other_dumps_are_not_used(path: Path, change: str) -> None:
    with duckdb.connect(str(path / "warehouse.duckdb")) as plain:
        plain.execute(change)
    with Warehouse.open(path, read_only=True) as store:
        assert find_kept_views(store._session.answering.for_statement("")) == {}


def test_the_next_writer_keeps_the_right_rows(path: Path) -> None:
    with duckdb.connect(str(path / "warehouse.duckdb")) as plain:
        plain.execute("UPDATE dumps SET model_id = 3 - model_id")
    Warehouse.open_to_write(path).close()
    with Warehouse.open_to_write(path) as store:
        assert find_kept_views(store.writing).keys() == set(VIEWS)
        assert find_wrong_rows(store.writing) == set()


def test_verification_finds_wrong_rows_of_kept_views(path: Path) -> None:
    with Warehouse.open_to_write(path) as store:
        assert verified(store.writing, path).damages == []
        for view in VIEWS:
            row = f"SELECT * FROM rows_of_{view} LIMIT 1"  # noqa: S608
            store.writing.execute(f"INSERT INTO rows_of_{view} {row}")
        damages = verified(store.writing, path).damages
    assert {(damage.tables, damage.problem) for damage in damages} == {
        (f"rows_of_{view}", "rows differ from those that a rebuild gives") for view in VIEWS
    }


def test_names_of_other_devices_are_not_written_again(path: Path) -> None:
    with Warehouse.open_to_write(path) as store:
        store.writing.execute("UPDATE rows_of_named_run_signatures SET run = 'old'")
        add_dump(store, random.Random(99), 9)  # noqa: S311
    with Warehouse.open(path, read_only=True) as store:
        names = store.sql("FROM named_run_signatures JOIN named_dumps USING (dump_id)").to_pylist()
    (place,) = {
        (row["device"], row["model"], row["backend"]) for row in names if row["build"] == "b9"
    }
    for row in names:
        is_old = (row["device"], row["model"], row["backend"]) != place
        assert (row["run"] == "old") == is_old


def test_programs_of_other_models_are_not_aligned_again(tmp_path: Path) -> None:
    def add(store: Warehouse, model: str, build: int) -> None:
        manifest = Manifest.model_validate({"device": "d", "build": f"b{build}", "model": model})
        data = traced_dump(PROGRAMS[build], seed=10 * len(model) + build)
        store.ingest([Dump.of_bytes(f"{model}{build}.etdp", data, manifest)])

    with Warehouse.open(tmp_path, create=True) as store:
        for model in ("one", "other"):
            add(store, model, 1)
            add(store, model, 2)
    with Warehouse.open_to_write(tmp_path) as store:
        store.writing.execute("UPDATE rows_of_aligned_operators SET op_type = 'old'")
        add(store, "one", 3)
    with duckdb.connect(str(tmp_path / "warehouse.duckdb"), read_only=True) as plain:
        kept = plain.sql("SELECT model, op_type = 'old' FROM rows_of_aligned_operators").fetchall()
    assert dict(kept) == {"one": None, "other": True}
