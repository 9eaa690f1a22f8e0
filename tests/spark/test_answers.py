"""Every canned query on Spark, beside the answer of DuckDB over the same lake."""

import math
from datetime import timedelta

import pytest

from tests.support.cross_section import cross_section
from tests.support.inboxes import fill_inbox
from tests.support.lakes import fill, real_looking_farm
from tests.support.questions import needs_rich_farm, question
from tests.support.rich_farm import rich_farm
from tests.support.store_rows import LONG_AGO, Event, StoreRows
from tests.support.tasks import TasksHere
from tracehouse import Warehouse
from tracehouse.warehouse.catalogue.queries import list_queries, list_views
from tracehouse.warehouse.errors import SparkError
from tracehouse.warehouse.spark.answers import SparkLake
from tracehouse.warehouse.spark.ingest import LakeIngester


class Both:
    """A lake, asked through Spark and by DuckDB."""

    def __init__(self, session, place, on_duckdb):
        self.on_spark = SparkLake(session, str(place))
        self.on_duckdb = on_duckdb

    def compare(self, name, **asked):
        """Pass if both give the same answer, which has rows."""
        if "dump" in asked:
            text = "SELECT min(dump_id) AS n FROM dumps"
            asked["dump"] = self.on_duckdb.sql(text)["n"][0].as_py()
        wanted, found = self.on_duckdb.query(name, **asked), self.on_spark.query(name, **asked)
        assert wanted.num_rows
        assert_same(found, wanted)
        assert [str(field.type) for field in found.schema] == [
            str(field.type) for field in wanted.schema
        ]


@pytest.fixture(scope="module")
def small(session, tmp_path_factory):
    place = tmp_path_factory.mktemp("small")
    fill(place, real_looking_farm())
    with Warehouse.open_lake(place) as lake:
        yield Both(session, place, lake)


@pytest.fixture(scope="module")
def rich(session, tmp_path_factory):
    place = tmp_path_factory.mktemp("rich")
    fill(place, real_looking_farm(rich_farm))
    with Warehouse.open_lake(place) as lake:
        yield Both(session, place, lake)


# Two builds have no change yet: test_report.py has a farm of many.
QUERIES = [name for name in list_queries() if name != "change_points"]


@pytest.mark.parametrize("name", cross_section(QUERIES, 8))
def test_answer_on_spark_is_that_of_duckdb(small, rich, name):
    (rich if needs_rich_farm(name) else small).compare(name, **question(name))


def _paired_farm():
    """Two builds in pairs, on a device that is never the same."""
    store = StoreRows()
    for pair in range(10):
        state = 1 + (7 * pair) % 10 / 10
        for build, factor in (("old", 1.0), ("new", 1.06)):
            run = {"session": "s", "pair": str(pair)}
            dump = store.add_dump(build=build, run=run)
            own = 1e5 * state * factor * (1 + 0.001 * ((3 * pair + len(build)) % 7))
            for _ in range(25):
                store.add_run(dump, [Event("native_call_conv.out", round(own), 1)])
    return store.connect()


def _farm_recorded_apart():
    """A build, and another a day later: the device is slower then, and an operator by itself."""
    store = StoreRows()
    for build, day, factor in (("old", 0, 1.0), ("new", 1, 1.2)):
        for number in range(10):
            at = LONG_AGO + timedelta(days=day, minutes=number)
            dump = store.add_dump(build=build, captured_at=at)
            events = [
                Event(
                    f"native_call_op{op}.out",
                    round(
                        1e5 * factor * (1 + 0.15 * day * (op == 2)) * (1 + number * op % 7 / 1e3)
                    ),
                    op,
                )
                for op in range(1, 6)
            ]
            events.append(Event("Method::execute", sum(event.ticks for event in events), chain=-1))
            for _ in range(25):
                store.add_run(dump, events)
    return store.connect()


@pytest.mark.parametrize("name", cross_section(["comparison", "regression_deltas"], 2))
def test_the_state_of_the_device_is_taken_out_alike(session, tmp_path, name):
    fill(tmp_path, real_looking_farm(_farm_recorded_apart))
    with Warehouse.open_lake(tmp_path) as lake:
        both = Both(session, tmp_path, lake)
        both.compare(name, base="old", head="new")
        rows = lake.query(name, base="old", head="new").to_pylist()
    assert {row["frame"] for row in rows} == {"residual"}
    found = [row["event_name"] for row in rows if row["verdict"] == "regression"]
    assert found == ["native_call_op2.out"]


@pytest.mark.parametrize("name", cross_section(["regression_deltas", "comparison"], 2))
def test_pairs_of_dumps_are_compared_alike(session, tmp_path, name):
    fill(tmp_path, real_looking_farm(_paired_farm))
    with Warehouse.open_lake(tmp_path) as lake:
        both = Both(session, tmp_path, lake)
        both.compare(name, base="old", head="new")
        verdicts = lake.query(name, base="old", head="new")["verdict"].to_pylist()
    assert "regression" in verdicts


@pytest.mark.parametrize(
    "asked", [{"device": "ph*"}, {"pool": ["lab"]}, {"since": "2026-01-01T05:00Z"}]
)
def test_filters_choose_the_same_dumps(small, asked):
    small.compare("dumps", **asked)


def test_files_that_filters_rule_out_are_not_read(session, tmp_path):
    inbox, place = fill_inbox(tmp_path / "inbox", 4), tmp_path / "lake"
    LakeIngester(TasksHere(), str(inbox), str(place)).ingest_all()
    for file in place.glob("events/*/model=net/*"):
        file.write_bytes(b"no Parquet")
    with Warehouse.open_lake(place) as lake:
        both = Both(session, place, lake)
        both.compare("percentiles", model="net/2", approx=False)
    with pytest.raises(SparkError, match=r"model=net/.* is not a Parquet file"):
        both.on_spark.query("percentiles", model="net", approx=False)


def test_views_are_those_of_duckdb(small):
    for name in list_views():
        text = f"SELECT count(*) AS n FROM {name}"  # noqa: S608
        assert small.on_spark.sql(text).to_pylist() == small.on_duckdb.sql(text).to_pylist(), name


def assert_same(found, wanted):
    assert found.column_names == wanted.column_names
    for name in found.column_names:
        ours, theirs = found[name].to_pylist(), wanted[name].to_pylist()
        assert len(ours) == len(theirs)
        for row, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            assert is_same(one, other), f"{name} of row {row}: {one!r}, not {other!r}"


def is_same(one, other):
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9) or (math.isnan(one) and math.isnan(other))
    return one == other
