"""The header of every .sql file says what the engine says."""

import json
import re
from importlib.resources import files

import duckdb
import pytest

from tests.support.store_rows import StoreRows
from warehouse.catalogue.dialect import duckdb_text
from warehouse.catalogue.header import parse_header
from warehouse.catalogue.parameters import bind_parameters
from warehouse.catalogue.queries import expand, load_catalogue

TYPES = {
    "VARCHAR": "STRING",
    "INTEGER": "INT",
    "BIGINT": "BIGINT",
    "DOUBLE": "DOUBLE",
    "BOOLEAN": "BOOLEAN",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMP",
}
QUERIES = load_catalogue()
VIEWS = {
    path.name: path.read_text(encoding="utf-8")
    for path in sorted((files("sql") / "views").iterdir())
}
FILTER_FILES = {
    path.name.removesuffix(".sql"): path.read_text(encoding="utf-8")
    for path in sorted((files("sql") / "filters").iterdir())
}
PART_FILES = {
    path.name.removesuffix(".sql"): path.read_text(encoding="utf-8")
    for path in sorted((files("sql") / "parts").iterdir())
}
CASTS = {"STRING[]": "ARRAY<STRING>", "TAG[]": "ARRAY<STRING>", "TAG_KEY": "STRING"}
FILTERS = ("device", "pool", "build", "model", "backend", "tag", "since", "until")


@pytest.fixture(scope="module")
def connection():
    return StoreRows().connect()


def _describe(connection, sql, params):
    rows = connection.execute(f"DESCRIBE {sql}", params).fetchall()
    return [(row[0], TYPES[row[1]]) for row in rows]


def _required(name):
    params = [param.name for param in QUERIES[name].header.params if param.is_required]
    return {param: str(number) for number, param in enumerate(params, start=1)}


def _without_comments(sql):
    return re.sub(r"--[^\n]*", "", sql)


@pytest.mark.parametrize("name", QUERIES)
def test_header_columns_are_the_query_s_columns(name, connection):
    query = QUERIES[name]
    nulls = dict.fromkeys((param.name for param in query.header.params), None)
    declared = [(column.name, column.type) for column in query.header.columns]
    assert declared == _describe(connection, duckdb_text(query.sql), nulls)


@pytest.mark.parametrize("name", VIEWS)
def test_header_columns_are_the_view_s_columns(name, connection):
    header = parse_header(VIEWS[name], name)
    assert name[4:] == f"{header.name}.sql"
    declared = [(column.name, column.type) for column in header.columns]
    assert declared == _describe(connection, f"TABLE {header.name}", [])


@pytest.mark.parametrize("name", FILTER_FILES)
def test_header_columns_are_the_filters_columns(name, connection):
    filters = expand(FILTER_FILES[name], f"{name}.sql", FILTER_FILES)
    assert filters.header.name == name
    nulls = dict.fromkeys((param.name for param in filters.header.params), None)
    declared = [(column.name, column.type) for column in filters.header.columns]
    assert declared == _describe(connection, duckdb_text(filters.sql), nulls)


# Each part behind those that it reads.
ALL_PARTS = """\
-- parts: operators, levels AS measured, series, plain_samples, modes, samples
-- parts: two_samples, compared, pools AS scored, tested, judgements, verdicts
-- parts: modules, notes, explanations
-- parts: logged_dumps, logged_values, value_pairs
"""
# Those that read other filters than compared_dumps, likewise.
OF_OTHERS = {
    "chosen_dumps": ("node_costs",),
    "grouped_dumps": ("placed_dumps", "places", "logged_runs", "allocating_events"),
}


@pytest.mark.parametrize("name", PART_FILES)
def test_header_columns_are_the_part_s_columns(name, connection):
    own = parse_header(PART_FILES[name], name)
    assert own.name == name
    filters = next((one for one, read in OF_OTHERS.items() if name in read), "compared_dumps")
    others = {part for read in OF_OTHERS.values() for part in read}
    expected = set(OF_OTHERS.get(filters, PART_FILES.keys() - others))
    parts = ALL_PARTS
    if filters in OF_OTHERS:
        parts = f"-- parts: {', '.join(OF_OTHERS[filters])}\n"
    header = f"-- x: X.\n--\n-- filters: {filters}\n--\n{parts}--\n-- columns:\n"
    table = {"levels": "measured", "pools": "scored"}.get(name, name)
    text = f"{header}--   a  INT  A.\nSELECT * FROM {table}\n"
    query = expand(text, "x.sql", FILTER_FILES, PART_FILES)
    assert {part.file for part in query.header.parts} == expected
    nulls = dict.fromkeys((param.name for param in query.header.params), None)
    declared = [(column.name, column.type) for column in own.columns]
    assert declared == _describe(connection, duckdb_text(query.sql), nulls)


@pytest.mark.parametrize("name", QUERIES)
def test_names_that_a_parameter_may_have_are_in_the_store(name, connection):
    for param in QUERIES[name].header.params:
        if param.names is not None:
            column = connection.table(param.names.table).project(param.names.column)
            assert column.fetchall() == []
        if param.relation is not None:
            assert param.relation.other in {other.name for other in QUERIES[name].header.params}


@pytest.mark.parametrize("name", QUERIES)
def test_header_parameters_are_the_ones_used(name):
    (statement,) = duckdb.extract_statements(duckdb_text(QUERIES[name].sql))
    assert {param.name for param in QUERIES[name].header.params} == statement.named_parameters


@pytest.mark.parametrize("name", QUERIES)
def test_every_use_of_a_parameter_is_cast_to_its_declared_type(name):
    sql = _without_comments(QUERIES[name].sql)
    uses = re.findall(r"(?<!:):(\w+)", sql)
    casts = re.findall(r"CAST\(:(\w+) AS ([\w<>]+)\)", sql)
    types = {param.name: CASTS.get(param.type, param.type) for param in QUERIES[name].header.params}
    assert casts == [(use, types[use]) for use in uses]


@pytest.mark.parametrize("name", QUERIES)
def test_query_is_one_select_with_a_final_order(name, connection):
    text = duckdb_text(QUERIES[name].sql)
    (statement,) = duckdb.extract_statements(text)
    assert statement.type == duckdb.StatementType.SELECT
    tree = connection.execute("SELECT json_serialize_sql(?::VARCHAR)", [text]).fetchall()[0][0]
    (top,) = json.loads(tree)["statements"]
    modifiers = [modifier["type"] for modifier in top["node"]["modifiers"]]
    assert modifiers == ["ORDER_MODIFIER"]


@pytest.mark.parametrize("name", QUERIES)
def test_defaults_are_of_their_types(name):
    bind_parameters(QUERIES[name], _required(name))


@pytest.mark.parametrize("name", QUERIES)
def test_query_takes_the_filters_that_its_rows_can_be_told_apart_by(name):
    names = {param.name for param in QUERIES[name].header.params}
    exempt = {
        "backend_comparison": {"backend"},
        "environment_changes": {"build"},
        "event_blocks": set(FILTERS),
        "exact_changes": {"build"},
        "ingest_errors": {"device", "pool", "build", "model", "backend", "tag"},
        "memory_deltas": {"build"},
        "numeric_divergence": {"build"},
        "comparison": {"build"},
        "regression_deltas": {"build"},
        "run_shifts": {"build"},
        "run_timeline": set(FILTERS),
    }
    assert set(FILTERS) - names == exempt.get(name, set())


@pytest.mark.parametrize("name", QUERIES)
def test_empty_store_has_no_rows(name, connection):
    values = bind_parameters(QUERIES[name], _required(name))
    assert connection.execute(duckdb_text(QUERIES[name].sql), values).fetchall() == []
