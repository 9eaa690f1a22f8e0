"""Rows come in the same order however the engine splits the work."""

import pytest

from tests.support.cross_section import cross_section
from tests.support.questions import every_query, farm_for, question
from tests.support.store_rows import run_query


@pytest.mark.parametrize("name", cross_section(every_query(), 20))
def test_answer_does_not_depend_on_threads_or_insertion_order(name):
    """With insertion order preserved, tests/sql/test_byte_stability.py tries several threads."""
    farm, asked = farm_for(name), question(name)
    farm.execute("SET threads = 1")
    expected = run_query(farm, name, **asked)
    assert expected
    farm.execute("SET threads = 8; SET preserve_insertion_order = false")
    assert run_query(farm, name, **asked) == expected
    farm.execute("SET threads = 1; RESET preserve_insertion_order")  # all farms have one DuckDB
