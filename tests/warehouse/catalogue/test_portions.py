"""A question in portions has the answer of the whole question, in bounded memory."""

from __future__ import annotations

import pytest

from tests.support.questions import farm_for, question
from tests.tools.benchmarks.scale import fill
from warehouse import Warehouse
from warehouse.catalogue.answers import answer_query, resolve_parameters
from warehouse.catalogue.dialect import duckdb_text
from warehouse.catalogue.portions import MOST_ROWS, split_question
from warehouse.catalogue.queries import find_query, load_catalogue
from warehouse.engine.functions import register_functions
from warehouse.engine.views import named_views
from warehouse.errors import LongQuestionError

SPLIT = {
    name: query.header.portions for name, query in load_catalogue().items() if query.header.portions
}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    fill(folder, 2, 3, 3, 10, 4)
    with Warehouse.open(folder, read_only=True) as store:
        yield store


def _answers(name, most_rows, farm=None, **params):
    query = find_query(name)
    farm = farm or farm_for(name)
    register_functions(farm, query.sql)
    values = resolve_parameters(farm, query, params)
    portions = list(
        split_question(farm, query, values, most_rows=dict.fromkeys(MOST_ROWS, most_rows))
    )
    text = duckdb_text(query.sql)
    return [farm.sql(text, params=own).to_arrow_table().to_pylist() for own in portions]


@pytest.mark.parametrize("name", [name for name in SPLIT if SPLIT[name][0] == "device"])
def test_portions_are_the_whole_answer_in_its_order(name):
    (whole,) = _answers(name, 1 << 40, **question(name))
    parts = _answers(name, 1, **question(name))
    assert whole
    assert len(parts) > 1
    assert [row for part in parts for row in part] == whole


@pytest.mark.parametrize("name", [name for name in SPLIT if SPLIT[name][0] == "model"])
def test_portions_of_models_are_the_whole_answer_in_its_order(models, name):
    farm = models._answering.for_query(find_query(name), {})
    (whole,) = _answers(name, 1 << 40, farm)
    parts = _answers(name, 1, farm)
    assert whole
    assert len(parts) > 1
    assert [row for part in parts for row in part] == whole


@pytest.mark.parametrize("name", SPLIT)
def test_the_longest_tables_are_those_that_the_query_reads(name):
    query = find_query(name)
    texts = query.sql + "".join(named_views(query.sql))
    for table in query.header.portions[1:]:
        assert table in texts or "operator_stats" in texts or "named_event_stats" in texts


def test_rows_that_take_devices_together_are_computed_at_once():
    assert len(_answers("percentiles", 1, group_by="pool", **question("percentiles"))) == 1


def test_a_portion_has_the_chosen_devices_only():
    farm = farm_for("dump_values")
    ((device,),) = farm.sql("SELECT min(name) FROM devices").fetchall()
    parts = _answers("dump_values", 1, device=device, **question("dump_values"))
    assert {row["device"] for part in parts for row in part} == {device}


def test_a_question_that_would_take_too_long_names_its_filters(models, monkeypatch):
    monkeypatch.setitem(MOST_ROWS, "event_stats", 1)
    connection = models._answering.for_query(find_query("dump_values"), {})
    with pytest.raises(LongQuestionError) as caught:
        answer_query(connection, find_query("dump_values"), {}, seconds=1e-9)
    text = str(caught.value)
    assert text.startswith("query 'dump_values': would take some ")
    assert text.endswith("with event, delegate_id, run, device, pool, build, model, backend, tag")
    assert answer_query(connection, find_query("dump_values"), {}, seconds=60).num_rows
