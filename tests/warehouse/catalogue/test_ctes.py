import re

import pytest

from tracehouse.warehouse.catalogue.dialect import count_uses, split_ctes
from tracehouse.warehouse.catalogue.queries import load_catalogue


def test_ctes_are_told_apart_from_the_body():
    text = (
        "-- a header\nWITH a AS (\n    SELECT (1 + 2)\n),\n-- between (\n"
        "b AS (SELECT ')' FROM a)\nSELECT 3"
    )
    found = split_ctes(text)
    assert [(cte.name, cte.sql) for cte in found.ctes] == [
        ("a", "SELECT (1 + 2)"),
        ("b", "SELECT ')' FROM a"),
    ]
    assert found.body == "SELECT 3"


@pytest.mark.parametrize("text", ["SELECT 1", "WITH RECURSIVE a AS (SELECT 1) SELECT * FROM a"])
def test_a_query_without_ctes_or_with_recursive_ones_is_not_split(text):
    assert split_ctes(text) == ((), text)


def test_uses_are_counted_behind_a_cte_only():
    found = split_ctes(
        "WITH a AS (SELECT 1 FROM t), b AS (SELECT 1 FROM a JOIN aa JOIN a), t AS (SELECT 1 FROM b)"
        " SELECT a.x FROM b"
    )
    assert {cte.name: count_uses(cte.name, found) for cte in found.ctes} == {"a": 2, "b": 2, "t": 0}


def test_splitting_ctes_keeps_every_part_of_a_query():
    def leaves(text):
        statement = split_ctes(text)
        if not statement.ctes:
            return [statement.body]
        return [leaf for cte in statement.ctes for leaf in leaves(cte.sql)] + [statement.body]

    for name, query in load_catalogue().items():
        for leaf in (re.sub("'[^']*'", "", leaf) for leaf in leaves(query.sql)):
            assert leaf.startswith("SELECT"), name
            assert leaf.count("(") == leaf.count(")"), name
