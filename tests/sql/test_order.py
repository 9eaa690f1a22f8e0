"""Rows come in the same order however the engine splits the work."""

import pytest

from tests.support.cross_section import cross_section
from tests.support.questions import farm_for, question
from tests.support.store_rows import run_query
from warehouse.catalogue.queries import load_catalogue


@pytest.mark.parametrize("name", cross_section(load_catalogue(), 20))
def test_answer_does_not_depend_on_threads_or_insertion_order(name):
    farm, asked = farm_for(name), question(name)
    farm.execute("SET threads = 1")
    expected = run_query(farm, name, **asked)
    assert expected
    for threads in (2, 8):
        for is_preserved in ("true", "false"):
            farm.execute(f"SET threads = {threads}")
            farm.execute(f"SET preserve_insertion_order = {is_preserved}")
            assert run_query(farm, name, **asked) == expected
    farm.execute("SET threads = 1; RESET preserve_insertion_order")  # all farms have one DuckDB
