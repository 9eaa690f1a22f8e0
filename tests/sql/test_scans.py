"""Canned queries read only the events that they are asked about, and most of them none."""

import json

import pytest

from tests.support.cross_section import cross_section
from tests.support.questions import required
from tests.support.store_rows import Event, StoreRows
from tracehouse.warehouse.catalogue.dialect import duckdb_text
from tracehouse.warehouse.catalogue.parameters import bind_parameters
from tracehouse.warehouse.catalogue.queries import find_query, load_catalogue
from tracehouse.warehouse.catalogue.views import reads_table

DEVICES, BUILDS, ROUNDS = 10, 12, 10
RUNS = 2  # of a dump
LONG = 200  # of one dump, which has a histogram
READERS = {  # of events
    "percentiles", "event_blocks", "memory_by_instruction", "numeric_divergence", "outlier_runs",
    "run_timeline",
}  # fmt: skip
QUESTIONS = {
    name: required(name, base="b1", head="b2", event="Method::execute") for name in load_catalogue()
}
QUESTIONS["framework_tax"]["scope"] = "all"
FILTERS = [{"device": ["d3"]}, {"build": ["b5"]}, {"device": ["d3"], "build": ["b5"]}]
ASKED = [
    (name, {**QUESTIONS[name], **filters, **choice})
    for name, query in load_catalogue().items()
    for filters in FILTERS
    if filters.keys() <= {param.name for param in query.header.params}
    for choice in ([{"approx": False}, {"approx": True}] if name == "percentiles" else [{}])
]


@pytest.fixture(scope="module")
def farm():
    """More than a thousand dumps, those of a device or build scattered among the others."""
    store = StoreRows()
    long = store.add_dump(device="d3", build="b5")
    for number in range(LONG):
        store.add_run(long, _execute(number))
    for number in range(ROUNDS * BUILDS * DEVICES):
        device, build = f"d{number % DEVICES}", f"b{number // DEVICES % BUILDS}"
        dump = store.add_dump(device=device, build=build, etrecord=f"{build}.etrecord")
        for run in range(RUNS):
            store.add_run(dump, _execute(number + run))
        store.add_allocations(dump, ("temp", 64))
    return store.connect()


def _execute(ticks):
    return [
        Event("", ticks, 0, "GEMM #1", modules=("", "head")),
        Event("DELEGATE_CALL", ticks + 1, 0),
        Event("native_call_conv.out", ticks, 1, modules=("", "conv")),
        Event("OPERATOR_CALL", ticks + 2, 1),
        Event("Method::execute", 3 * ticks + 9, 0, chain=-1),
    ]


def _scans(farm, name, params):
    """Rows that each scan of a table gives to the rest of the plan, by name of the table."""
    query = load_catalogue()[name]
    scans = list(_table_scans(_plan(farm, query, params)))
    assert scans or not query.header.params
    return scans


def _plan(farm, query, params):
    values = bind_parameters(query, params)
    text = f"EXPLAIN (ANALYZE, FORMAT JSON) {duckdb_text(query.sql)}"
    ((_, plan),) = farm.execute(text, values).fetchall()
    return json.loads(plan)["operator"]


def _table_scans(nodes):
    for node in nodes:
        if node["type"] == "TABLE_SCAN":
            yield node["extra_info"]["Table"].rpartition(".")[2], node["intermediate_rows"]
        yield from _table_scans(node.get("children", ()))


def _joined(nodes, table):
    """Rows that the joins above the scans of a table give."""
    for node in nodes:
        below = list(_table_scans(node.get("children", ())))
        if node["type"] == "HASH_JOIN" and table in dict(below):
            yield node["intermediate_rows"]
        yield from _joined(node.get("children", ()), table)


def _events(farm, params, table="events"):
    """How many rows of a table are of dumps that are asked for."""
    text = (
        "SELECT count(*) FROM events JOIN named_dumps USING (dump_id) "
        "WHERE ($device IS NULL OR device = $device[1]) AND ($build IS NULL OR build = $build[1])"
    )
    names = {"device": params.get("device"), "build": params.get("build")}
    return farm.execute(text.replace("events", table), names).fetchone()[0]


@pytest.mark.parametrize(("name", "params"), cross_section(ASKED, 6))
def test_scans_give_no_more_events_than_those_of_the_dumps_asked_for(farm, name, params):
    for table, count in _scans(farm, name, params):
        if table == "events":
            assert count <= _events(farm, params)


@pytest.mark.parametrize("filters", [{"device": ["d3"]}, {"build": ["b5"]}])
@pytest.mark.parametrize("name", ["build_history", "device_comparison", "dump_values"])
def test_statistics_of_other_dumps_are_left_out_by_the_first_join(farm, name, filters):
    plan = _plan(farm, load_catalogue()[name], QUESTIONS[name] | filters)
    assert max(_joined(plan, "event_stats")) <= _events(farm, filters, "event_stats")


@pytest.mark.parametrize("name", ["pair_values", "run_shifts"])
def test_statistics_of_builds_that_are_not_compared_are_left_out_by_the_first_join(farm, name):
    query = load_catalogue().get(name) or find_query(name, "statements")
    plan = _plan(farm, query, {"base": "b1", "head": "b2"})
    of_two = sum(_events(farm, {"build": [build]}, "event_stats") for build in ("b1", "b2"))
    assert max(_joined(plan, "event_stats")) <= of_two


@pytest.mark.parametrize("name", sorted(load_catalogue().keys() - READERS))
def test_queries_that_do_not_need_events_do_not_scan_them(farm, name):
    assert "events" not in {table for table, _ in _scans(farm, name, QUESTIONS[name])}


@pytest.mark.parametrize("name", sorted(load_catalogue()))
def test_the_text_of_a_query_tells_whether_it_reads_events(name):
    """By it questions are weighed, and answers say that raw events were dropped."""
    assert reads_table(load_catalogue()[name].sql, "events") == (name in READERS)


def test_a_dump_with_a_histogram_is_not_read_again(farm):
    scans = _scans(farm, "percentiles", {"device": ["d3"], "build": ["b5"], "approx": True})
    assert dict(scans)["event_histograms"] > 0
    of_short_dumps = ROUNDS * RUNS * len(_execute(0))
    assert [count for table, count in scans if table == "events"] == [of_short_dumps]


def test_the_farm_has_a_thousand_dumps_and_events_to_leave_out(farm):
    assert farm.execute("SELECT count(*) > 1000 FROM dumps").fetchone()[0]
    few = [_events(farm, filters) for filters in FILTERS]
    assert 0 < few[2] < min(few[:2]) < max(few) < _events(farm, {})
