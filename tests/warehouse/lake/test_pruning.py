from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.lakes import fill, real_looking_farm, shared_numbers
from tests.support.questions import every_query
from tests.support.small_farm import small_farm
from tests.support.store_rows import AskedConnection, Event, StoreRows
from tracehouse import Warehouse
from tracehouse.warehouse.catalogue.answers import answer_query
from tracehouse.warehouse.catalogue.queries import find_query
from tracehouse.warehouse.engine.build_order import update_build_order
from tracehouse.warehouse.errors import ParameterError
from tracehouse.warehouse.lake.connections import PRUNED_TABLES

# Three days, and two models.
_SPREAD = """
UPDATE dumps SET captured_at = captured_at + to_days(CAST(dump_id % 3 AS INTEGER));
UPDATE models SET name = 'other' WHERE backend IS NULL
"""
_ROLES = """
UPDATE dumps
SET manifest = json_merge_patch(manifest, json_object('build', json_object('role', b.role)))
FROM builds AS b WHERE b.build_id = dumps.build_id AND b.role IS NOT NULL
"""
FILTERS = [
    {"model": "net"},
    {"since": "2026-01-03"},
    {"until": "2026-01-02", "device": "tab*"},
    {"pool": "lab", "since": "2026-01-02"},
]
FILTERED = [
    name
    for name, query in every_query().items()
    if {"since", "device"} <= {param.name for param in query.header.params}
    and name not in {"backend_comparison", "scaling"}  # which this farm has no names for
]


@pytest.fixture(scope="module")
def farm():
    farm = real_looking_farm(lambda: small_farm(runs=12))
    farm.execute(_SPREAD)
    update_build_order(farm)
    return farm


@pytest.fixture(scope="module")
def place(farm, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lake")
    fill(folder, farm)
    assert len(list(folder.glob("events/*/*/*.parquet"))) == 6
    return folder


@pytest.fixture(scope="module")
def lake(place: Path) -> Iterator[Warehouse]:
    """That lake, open."""
    with Warehouse.open_lake(place) as opened:
        yield opened


def plain(farm, answer):
    numbers = shared_numbers(farm)
    is_lake = not set(numbers) & set(answer.column("dump_id").to_pylist())
    known = {shared: own for own, shared in numbers.items()} if is_lake else {}
    rows = answer.to_pylist()
    return sorted(repr({k: known.get(v, v) if k == "dump_id" else v for k, v in row.items()})
                  for row in rows)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "filters"), [(name, FILTERS[n % len(FILTERS)]) for n, name in enumerate(FILTERED)]
)
def test_filtered_answers_are_those_of_the_store(
    farm, lake: Warehouse, name: str, filters: dict[str, str]
) -> None:
    asked = {"base": "old", "head": "new", "event": "native_call_conv.out"} | filters
    own = {param.name for param in find_query(name).header.params}
    asked = {key: value for key, value in asked.items() if key in own}
    wanted = AskedConnection(farm).query(name, **asked)
    found = lake.query(name, **asked)
    drop = [n for n in wanted.column_names if n.endswith("_dump_id")]
    wanted, found = wanted.drop(drop), found.drop(drop)
    if "dump_id" in wanted.column_names:
        assert plain(farm, found) == plain(farm, wanted)
    else:
        assert found.to_pylist() == wanted.to_pylist()


def without(place: Path, copy: Path, kept: str) -> Path:
    """A copy of the lake where of the tables that are narrowed only some files can be read."""
    shutil.copytree(place, copy)
    for table in PRUNED_TABLES:
        for file in copy.glob(f"{table}/*/*/*.parquet"):
            if kept not in file.as_posix() and table != "runs":
                data = file.read_bytes()
                rest = int.from_bytes(data[-8:-4], "little") + 8  # the footer, which DuckDB reads
                file.write_bytes(bytes(len(data) - rest) + data[-rest:])
    return copy


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kept", "filters"),
    [("model=other", {"model": "other"}), ("date=2026-01-03", {"since": "2026-01-03"})],
)
@pytest.mark.parametrize("name", ["percentiles", "framework_tax", "stability"])
def test_filters_prune_the_files_of_a_lake(
    farm, place: Path, tmp_path: Path, name: str, kept: str, filters: dict[str, str]
) -> None:
    copy = without(place, tmp_path / "copy", kept)
    with Warehouse.open_lake(copy) as lake:
        found = lake.query(name, **filters)
    assert found.to_pylist() == AskedConnection(farm).query(name, **filters).to_pylist()


def test_events_of_one_dump_are_read_from_its_part(farm, place: Path, tmp_path: Path) -> None:
    copy = without(place, tmp_path / "copy", "date=2026-01-02/model=net")
    text = "SELECT dump_id FROM named_dumps WHERE model = 'net' AND captured_at < '2026-01-03'"
    dump = next(id_ for (id_,) in farm.execute(text).fetchall() if id_ % 3 == 1)
    with Warehouse.open_lake(copy) as lake:
        for name in ("run_timeline", "event_blocks"):
            found = lake.query(name, dump=shared_numbers(farm)[dump])
            wanted = answer_query(farm, find_query(name), {"dump": dump})
            assert found.to_pylist() == wanted.to_pylist() != []


@pytest.mark.slow
def test_the_next_question_is_not_narrowed_by_the_last(farm, place: Path) -> None:
    wanted = answer_query(farm, find_query("percentiles"), {}).to_pylist()
    with Warehouse.open_lake(place) as lake:
        assert lake.query("percentiles", model="net").to_pylist() != wanted
        assert lake.query("percentiles").to_pylist() == wanted


def _sessions():
    """Two builds, each recorded in a session of its day beside a reference build."""
    store = StoreRows()
    store.add_build("pinned", role="reference")
    for day, build in enumerate(("old", "new"), start=1):
        for name, ticks, later in ((build, 10_000, 0), ("pinned", 9_000, 10)):  # another file
            for number in range(8):
                dump = store.add_dump(
                    build=name,
                    captured_at=datetime(2026, 1, day + later, tzinfo=UTC),
                    run={"session": build},
                )
                for _ in range(25):
                    store.add_run(dump, [Event("conv", day * (ticks + 10 * number), 1)])
    return store.connect()


@pytest.mark.slow
def test_comparison_reads_the_dumps_of_reference_builds_too(tmp_path: Path) -> None:
    farm = real_looking_farm(_sessions)
    farm.execute(_ROLES)
    fill(tmp_path, farm)
    asked = {"base": "old", "head": "new"}
    wanted = AskedConnection(farm).query("regression_deltas", **asked).to_pylist()
    assert [(row["verdict"], row["reference"]) for row in wanted] == [("unchanged", "pinned")]
    with Warehouse.open_lake(tmp_path) as lake:
        assert lake.query("regression_deltas", **asked).to_pylist() == wanted


def test_names_that_the_lake_lacks_are_refused(place: Path) -> None:
    with Warehouse.open_lake(place) as lake:
        with pytest.raises(ParameterError, match="'nte' is not in the store; did you"):
            lake.query("percentiles", model="nte")
        with pytest.raises(ParameterError, match="not in the store"):
            lake.query("run_timeline", dump=5)
