"""The benchmark of growth has a figure for every query, page and step of a store."""

from __future__ import annotations

import pytest

from tests.support.questions import every_query
from tests.tools.benchmarks.growth import exponent, list_steps, make_store
from tests.tools.benchmarks.growth_step import measure_step
from tracehouse import Warehouse
from tracehouse.cli.serve.page.routes import VIEWS


def test_every_query_is_measured():
    assert every_query().keys() == {step.name for step in list_steps() if step.kind == "query"}


def test_every_page_of_a_whole_store_is_measured():
    """But those of one dump, and the charts of a page as files."""
    steps = [step.name.partition("?")[0] for step in list_steps() if step.kind == "page"]
    paths = {"/explore" if path.startswith("/explore/") else path for path in steps}
    views = {path for path in VIEWS if not path.endswith(".svg") and "{" not in path}
    assert views == paths


def test_twice_the_cost_of_twice_the_fleet_has_the_exponent_one():
    assert exponent(0.5, 1.0) == 1.0
    assert exponent(0.0, 0.0) == 0.0


@pytest.mark.slow
def test_each_kind_of_step_has_its_cpu_and_its_memory(tmp_path):
    make_store(tmp_path, 5)
    with Warehouse.open(tmp_path, read_only=True) as store:
        assert store.query("outlier_runs").num_rows
        assert store.query("scaling", size_tag="size").num_rows
    for kind, name in (("query", "dumps"), ("page", "/"), ("store", "status")):
        found = measure_step(kind, name, tmp_path, {}, 120)
        assert found["refusal"] is None
        assert found["cpu"] > 0
        assert 20 < found["mb"] < 2000
    assert measure_step("query", "percentiles", tmp_path, {}, 0.01) == {"refusal": "over 0 s"}
