"""Every canned query on Spark, beside the answer of DuckDB over the same lake."""

import math

import pytest

from tests.support.lakes import fill, real_looking_farm
from tests.support.rich_farm import QUESTIONS as RICH_QUESTIONS
from tests.support.rich_farm import rich_farm
from tests.support.small_farm import QUESTIONS
from warehouse import Warehouse
from warehouse.catalogue.queries import load_catalogue
from warehouse.catalogue.sql_files import read_sql_files
from warehouse.spark.answers import SparkLake


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lake")
    fill(folder, real_looking_farm())
    return folder


@pytest.fixture(scope="module")
def on_spark(session, place):
    return SparkLake(session, str(place))


@pytest.fixture(scope="module")
def on_duckdb(place):
    with Warehouse.open_lake(place) as lake:
        yield lake


@pytest.fixture(scope="module")
def rich(session, tmp_path_factory):
    """The lake that other queries are asked of, on both."""
    folder = tmp_path_factory.mktemp("rich")
    fill(folder, real_looking_farm(rich_farm()))
    with Warehouse.open_lake(folder) as lake:
        yield SparkLake(session, str(folder)), lake


@pytest.mark.parametrize("name", load_catalogue())
def test_answer_on_spark_is_that_of_duckdb(on_spark, on_duckdb, rich, name):
    asked = dict(QUESTIONS.get(name, {}))
    if name in RICH_QUESTIONS:
        (on_spark, on_duckdb), asked = rich, dict(RICH_QUESTIONS[name])
    if "dump" in asked:
        asked["dump"] = on_duckdb.sql("SELECT min(dump_id) AS n FROM dumps")["n"][0].as_py()
    wanted, found = on_duckdb.query(name, **asked), on_spark.query(name, **asked)
    assert wanted.num_rows
    assert_same(found, wanted)
    assert [str(field.type) for field in found.schema] == [
        str(field.type) for field in wanted.schema
    ]


def test_filters_choose_the_same_dumps(on_spark, on_duckdb):
    for asked in ({"device": "ph*"}, {"pool": ["lab"]}, {"since": "2026-01-01T05:00Z"}):
        assert_same(on_spark.query("dumps", **asked), on_duckdb.query("dumps", **asked))


def test_views_are_those_of_duckdb(on_spark, on_duckdb):
    for name, _ in read_sql_files("views"):
        text = f"SELECT count(*) AS n FROM {name[4:-4]}"  # noqa: S608
        assert on_spark.sql(text).to_pylist() == on_duckdb.sql(text).to_pylist(), name


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
