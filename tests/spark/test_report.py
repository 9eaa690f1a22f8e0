"""The nightly report of a lake made on Spark, beside that of the store it was written from."""

import json
from functools import partial

import duckdb
import pytest

from tests.support.hidden_change import OPERATOR, write_hidden_change
from tests.support.lakes import fill
from tests.support.nightly_farm import ingest_nights, record_build
from tracehouse import Warehouse
from tracehouse.queries.report.forms import render
from tracehouse.queries.report.nightly import nightly_report
from tracehouse.queries.report.settings import Settings
from tracehouse.warehouse.spark.answers import SparkLake, judge_on_spark

pytestmark = pytest.mark.slow  # a report asks Spark some hundred questions


def pooled_nights():
    """Six devices of a pool, with too few dumps each; relu is 10 % slower on them from b6 on."""
    for number in range(8):
        for device in range(6):
            slower = {"native_call_relu.out": 1.1 if number >= 6 else 1.0}
            place = {"name": f"phone-{device}", "pool": "phones"}
            yield from record_build(number, slower, device=place, count=4)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("farm") / "nightly.store"
    ingest_nights(path)
    with Warehouse.open(path) as warehouse:
        warehouse.ingest(list(pooled_nights()))
    return path


@pytest.fixture(scope="module")
def lake(store):
    place = store.parent / "lake"
    with duckdb.connect(str(store / "warehouse.duckdb"), read_only=True) as connection:
        fill(place, connection)
    return place


@pytest.mark.parametrize("head", [None, "b7"])
def test_report_of_a_lake_on_spark_is_that_of_the_store(session, store, lake, head):
    with Warehouse.open(store, read_only=True) as warehouse:
        wanted = nightly_report(warehouse, Settings(), head=head)
    asked = SparkLake(session, str(lake))
    found = nightly_report(asked, Settings(), head=head, judge=partial(judge_on_spark, asked))
    told, expected = (dict(leaves(json.loads(render(one, "json")))) for one in (found, wanted))
    assert told == near(expected)
    assert found.groups


@pytest.mark.parametrize(
    ("name", "filters"),
    [("change_points", {}), ("nightly_verdicts", {"device": ["phone", "phone-3"], "head": "b7"})],
)
def test_nights_of_a_lake_on_spark_are_those_of_the_store(session, store, lake, name, filters):
    with Warehouse.open(store, read_only=True) as warehouse:
        wanted = warehouse.query(name, **filters)
    found = SparkLake(session, str(lake)).query(name, **filters)
    assert found.schema == wanted.schema
    told, expected = (dict(leaves(table.to_pylist())) for table in (found, wanted))
    assert wanted.num_rows
    assert told == near(expected)


def test_calls_that_changed_alone_name_the_same_operators(session, tmp_path):
    write_hidden_change(tmp_path / "farm")
    with Warehouse.open(tmp_path / "store", create=True) as store:
        store.ingest([tmp_path / "farm"])
        store.export_lake(str(tmp_path / "lake"))
        wanted = nightly_report(store, Settings())
    asked = SparkLake(session, str(tmp_path / "lake"))
    found = nightly_report(asked, Settings(), judge=partial(judge_on_spark, asked))
    told = [[m.may_be for group in one.groups for m in group.members] for one in (found, wanted)]
    assert told[0] == told[1]
    assert any(OPERATOR in text for text in told[0] if text)


def near(values):
    """The values, fractions but for their last digits."""
    return {
        place: pytest.approx(value, rel=1e-9) if isinstance(value, float) else value
        for place, value in values.items()
    }


def leaves(value, place=()):
    """Every value of a JSON document by where it is."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, own in items:
            yield from leaves(own, (*place, key))
        yield (*place, "length"), len(value)
    else:
        yield place, value
