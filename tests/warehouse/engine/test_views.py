"""The views are made when a statement names them."""

from __future__ import annotations

from pathlib import Path

from tracehouse import Warehouse
from tracehouse.warehouse.catalogue.queries import load_catalogue
from tracehouse.warehouse.catalogue.views import load_views, named_views


def test_a_statement_needs_the_views_it_names_and_those_they_read() -> None:
    assert named_views("SELECT 1 FROM runs") == []
    assert named_views('FROM "Named_Event_Stats"') == [
        "named_event_signatures",
        "named_dumps",
        "own_modules",
        "builds_in_order",
        "named_run_signatures",
        "named_event_stats",
    ]
    assert set(named_views(" ".join(load_views()))) == set(load_views())


def test_a_canned_query_names_the_views_that_its_parameters_are_looked_up_in() -> None:
    for query in load_catalogue().values():
        tables = {param.names.table for param in query.header.params if param.names}
        assert tables & set(load_views()) <= set(named_views(query.sql)), query.header.name


def test_a_question_makes_only_the_views_that_it_names(store: Path) -> None:
    made = "SELECT view_name FROM duckdb_views() WHERE temporary AND NOT internal"
    with Warehouse.open(store, read_only=True) as warehouse:
        assert warehouse.sql(made).num_rows == 0
        for _ in range(2):
            warehouse.sql("SELECT * FROM named_dumps")
        assert warehouse.sql(made).column(0).to_pylist() == named_views("named_dumps")
