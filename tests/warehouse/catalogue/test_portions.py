"""A question in portions has the answer of the whole question, in bounded memory."""

from __future__ import annotations

import pytest

from tests.support.cross_section import cross_section
from tests.support.questions import farm_for, lacks_rows_of, question
from tests.tools.benchmarks.scale import fill
from tracehouse import Warehouse
from tracehouse.warehouse.catalogue.answers import resolve_parameters
from tracehouse.warehouse.catalogue.dialect import duckdb_text
from tracehouse.warehouse.catalogue.queries import find_query, load_catalogue
from tracehouse.warehouse.catalogue.time_limits import (
    _SHARES,
    DUMP_WEIGHT,
    RUN_WEIGHT,
    Portion,
    _gather,
    portion_column,
    split_question,
)
from tracehouse.warehouse.engine.sql_functions import register_functions

SPLIT = {
    name: query.header.portions for name, query in load_catalogue().items() if query.header.portions
}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    fill(folder, 2, 3, 3, 10, 4)
    with Warehouse.open(folder, read_only=True) as store:
        yield store


def _answers(name, most, farm=None, **params):
    query = find_query(name)
    farm = farm or farm_for(name)
    register_functions(farm, query.sql)
    values = resolve_parameters(farm, query, params)
    portions = split_question(farm, query, query.header.portions, values, most=most)
    text = duckdb_text(query.sql)
    return [farm.sql(text, params=own.values).to_arrow_table().to_pylist() for own in portions]


@pytest.mark.parametrize(
    "name", cross_section([name for name in SPLIT if SPLIT[name] == "device"], 3)
)
def test_portions_are_the_whole_answer_in_its_order(name):
    (whole,) = _answers(name, 1 << 40, **question(name))
    parts = _answers(name, 1, **question(name))
    assert whole or lacks_rows_of(name, farm_for(name))
    assert len(parts) > 1
    assert [row for part in parts for row in part] == whole


@pytest.mark.parametrize(
    "name", cross_section([name for name in SPLIT if SPLIT[name] == "model"], 2)
)
def test_portions_of_models_are_the_whole_answer_in_its_order(models, name):
    farm = models._session.answering.for_query(find_query(name), {})
    (whole,) = _answers(name, 1 << 40, farm)
    parts = _answers(name, 1, farm)
    assert whole
    assert len(parts) > 1
    assert [row for part in parts for row in part] == whole


def test_rows_that_take_devices_together_are_computed_at_once():
    query = find_query("percentiles")
    assert portion_column(query, {"group_by": None}) == "device"
    assert portion_column(query, {"group_by": "pool"}) == ""


def test_a_portion_has_the_chosen_devices_only():
    farm = farm_for("dump_values")
    ((device,),) = farm.sql("SELECT min(name) FROM devices").fetchall()
    parts = _answers("dump_values", 1, device=device, **question("dump_values"))
    assert {row["device"] for part in parts for row in part} == {device}


def test_only_dumps_of_the_two_builds_of_a_comparison_weigh(models):
    farm = models._session.answering.for_query(find_query("run_shifts"), {})
    values = resolve_parameters(farm, find_query("run_shifts"), {"base": "b1", "head": "b3"})
    portions = split_question(farm, find_query("run_shifts"), "device", values, most=1)
    dumps = 3 * 2 * 10  # of one device: models, builds, dumps of a night
    assert [portion.weight for portion in portions] == [dumps * (30 * RUN_WEIGHT + DUMP_WEIGHT)] * 2


def test_a_question_that_fits_one_portion_is_not_split(models):
    query = find_query("dump_values")
    farm = models._session.answering.for_query(query, {})
    values = resolve_parameters(farm, query, {})
    whole = 2 * 3 * 3 * 10 * (30 * RUN_WEIGHT + DUMP_WEIGHT)
    assert split_question(farm, query, "model", values, most=whole) == [Portion(values, whole)]
    assert sum(own.weight for own in split_question(farm, query, "model", values, most=9)) == whole


@pytest.mark.parametrize(
    ("name", "weight"), [("outlier_runs", 300), ("stability", 30 * RUN_WEIGHT)]
)
def test_portions_count_events_only_for_queries_that_read_them(models, name, weight):
    query = find_query(name)
    farm = models._session.answering.for_query(query, {})
    values = resolve_parameters(farm, query, {})
    (portion,) = split_question(farm, query, "device", values)
    assert portion.weight == 2 * 3 * 3 * 10 * (weight + DUMP_WEIGHT)


@pytest.mark.parametrize(("is_timed", "count"), [(False, 2), (True, 3)])
def test_only_a_question_with_a_time_limit_begins_with_small_portions(models, is_timed, count):
    query = find_query("dump_values")
    farm = models._session.answering.for_query(query, {})
    values = resolve_parameters(farm, query, {})
    most = 2 * 2 * 3 * 10 * 400  # of two of three models
    found = split_question(farm, query, "model", values, most=most, is_timed=is_timed)
    assert len(found) == count


def test_the_first_portions_are_small():
    portions = list(_gather([(str(number), 2) for number in range(60)], 50, _SHARES))
    assert [(len(names), weight) for names, weight in portions] == [
        (1, 2), (5, 10), (25, 50), (25, 50), (4, 8)
    ]  # fmt: skip
    assert [name for names, _ in portions for name in names] == list(map(str, range(60)))


def test_a_portion_is_halved_down_to_single_names():
    halves = Portion({"device": ["a", "b", "c"]}, 31).halves("device")
    assert [half.weight for half in halves] == [15, 16]
    assert [half.values["device"] for half in halves] == [["a"], ["b", "c"]]
    assert halves[0].halves("device") == halves[:1]
    assert Portion({"device": None}, 30).halves("") == [Portion({"device": None}, 30)]


@pytest.mark.parametrize(
    ("name", "params", "column"),
    [
        ("memory_by_instruction", {}, "n_allocations"),
        ("numeric_divergence", {"base": "old", "head": "new"}, "n_debug_events"),
    ],
)
def test_portions_count_events_only_of_dumps_with_the_needed_data(name, params, column):
    query, farm = find_query(name), farm_for(name)
    values = resolve_parameters(farm, query, params)
    (whole,) = split_question(farm, query, "device", values, most=1 << 40)
    weight = f"sum(if({column} > 0, n_events, 0) + {DUMP_WEIGHT})"
    assert farm.table("dumps").aggregate(weight).fetchall() == [(whole.weight,)]


def test_approximate_percentiles_hold_no_events():
    query, farm = find_query("percentiles"), farm_for("percentiles")
    weights = []
    for approx in (True, False):
        values = resolve_parameters(farm, query, {"approx": approx})
        (whole,) = split_question(farm, query, "device", values, most=1 << 40)
        weights.append(whole.weight)
    expected = f"{RUN_WEIGHT} * n_runs", "n_events"
    sums = ", ".join(f"sum({each} + {DUMP_WEIGHT})" for each in expected)
    assert farm.table("dumps").aggregate(sums).fetchall() == [tuple(weights)]
