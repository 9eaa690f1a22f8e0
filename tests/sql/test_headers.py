"""The header of every .sql file says what the engine says."""

import json
import re
from collections import Counter
from importlib.resources import files

import duckdb
import pytest

from tests.support.questions import required
from tests.support.store_rows import StoreRows
from tracehouse.warehouse.catalogue.dialect import duckdb_text
from tracehouse.warehouse.catalogue.header import parse_header
from tracehouse.warehouse.catalogue.parameters import bind_parameters
from tracehouse.warehouse.catalogue.queries import expand, find_query, list_queries, load_catalogue
from tracehouse.warehouse.catalogue.sql_files import read_sql_files

TYPES = {
    "VARCHAR": "STRING",
    "INTEGER": "INT",
    "BIGINT": "BIGINT",
    "DOUBLE": "DOUBLE",
    "BOOLEAN": "BOOLEAN",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMP",
    "STRUCT": "STRUCT",
}
QUERIES = {**load_catalogue(), **load_catalogue("page")}
VIEWS = read_sql_files("views")
FILTER_FILES, PART_FILES = (read_sql_files(folder) for folder in ("filters", "parts"))
FOLDERS = ("queries", "computed", "page", "views", "filters", "parts")
TEXTS = [
    *(text for folder in FOLDERS for text in read_sql_files(folder).values()),
    *(text for text in read_sql_files("statements").values() if "\n-- columns:\n" in text),
]
CASTS = {
    "STRING[]": "ARRAY<STRING>",
    "TAG[]": "ARRAY<STRING>",
    "PLACE[]": "ARRAY<STRING>",
    "TAG_KEY": "STRING",
    "SHARE": "DOUBLE",
}
FILTERS = ("device", "pool", "build", "model", "backend", "tag", "since", "until")


@pytest.fixture(scope="module")
def connection():
    return StoreRows().connect()


def _describe(connection, sql, params):
    rows = connection.execute(f"DESCRIBE {sql}", params).fetchall()
    return [(row[0], TYPES[row[1].partition("(")[0]]) for row in rows]


def _without_comments(sql):
    return re.sub(r"--[^\n]*", "", sql)


def _declared(header):
    return [(column.name, column.type) for column in header.columns]


def _answered(connection, query):
    nulls = dict.fromkeys((param.name for param in query.header.params), None)
    return _describe(connection, duckdb_text(query.sql), nulls)


def test_header_columns_are_the_queries_columns_and_an_empty_store_has_no_rows(connection):
    declared = {name: (_declared(query.header), []) for name, query in QUERIES.items()}
    answers = {}
    for name, query in QUERIES.items():
        connection.execute(duckdb_text(query.sql), bind_parameters(query, required(name)))
        columns = [
            (column, TYPES[str(type_).partition("(")[0]])
            for column, type_, *_ in connection.description
        ]
        answers[name] = columns, connection.fetchall()
    assert declared == answers


def test_header_columns_are_the_views_columns(connection):
    headers = {name: parse_header(text, name) for name, text in VIEWS.items()}
    assert [*headers] == [f"{name[:4]}{header.name}" for name, header in headers.items()]
    assert {name: _declared(header) for name, header in headers.items()} == {
        name: _describe(connection, f"TABLE {header.name}", []) for name, header in headers.items()
    }


def test_header_columns_are_the_filters_columns(connection):
    read = {name: expand(text, f"{name}.sql", FILTER_FILES) for name, text in FILTER_FILES.items()}
    assert [*read] == [filters.header.name for filters in read.values()]
    assert {name: _declared(filters.header) for name, filters in read.items()} == {
        name: _answered(connection, filters) for name, filters in read.items()
    }


# The parts that read the columns of a filter, each behind those that it reads itself.
PARTS = {
    "compared_dumps": "pair_recordings AS recordings, recorded_values, logged_dumps, "
    "logged_values, value_pairs, dump_allocations, exact_measures, lineage_dumps, "
    "lineage_recordings, all_dumps, token_dumps, compared_programs",
    "chosen_dumps": "program_nodes, run_steps, run_nodes, node_costs, run_names, run_sums, "
    "refused_dumps",
    "grouped_dumps": "program_dumps, places, logged_runs, allocating_events, "
    "decoded_tokens, loads, first_runs, stated_counters",
}


def test_an_ordinal_is_a_number_in_a_run():
    """Other runs of a build have ordinals of their own."""
    told = [
        one.doc
        for text in TEXTS
        for header in [parse_header(text, "x.sql")]
        for one in (*header.params, *header.columns)
        if one.name == "ordinal" and one.doc
    ]
    assert told
    assert [doc for doc in told if not re.search(r"\bruns?\b", doc)] == []


def test_the_queries_to_ask_next_are_other_queries():
    for name in list_queries():
        assert set(find_query(name).header.following) <= set(list_queries()) - {name}


def test_every_part_is_read():
    read = [part.partition(" AS ")[0] for parts in PARTS.values() for part in parts.split(", ")]
    assert sorted(read) == sorted(PART_FILES)


@pytest.mark.parametrize("filters", PARTS)
def test_header_columns_are_the_parts_columns(filters, connection):
    tables = {
        name: table or name
        for part in PARTS[filters].split(", ")
        for name, _, table in [part.partition(" AS ")]
    }
    rows = ", ".join(f"(SELECT w FROM {t} AS w) AS {name}" for name, t in tables.items())  # noqa: S608
    text = (
        f"-- x: X.\n--\n-- filters: {filters}\n--\n-- parts: {PARTS[filters]}\n--\n"
        f"-- columns:\n--   a  INT  A.\nSELECT {rows}\n"
    )
    query = expand(text, "x.sql", FILTER_FILES, PART_FILES)
    nulls = dict.fromkeys((param.name for param in query.header.params), None)
    answer = connection.sql(duckdb_text(query.sql), params=nulls)
    found = {
        name: [(column, TYPES[str(kind).partition("(")[0]]) for column, kind in row.children]
        for name, row in zip(answer.columns, answer.types, strict=True)
    }
    headers = {name: parse_header(PART_FILES[name], name) for name in tables}
    assert found == {header.name: _declared(header) for header in headers.values()}


def test_glossary_entries_are_used_by_name_in_two_files_or_more():
    glossary = (files("tracehouse.sql") / "glossary.sql").read_text(encoding="utf-8")
    shared = parse_header(glossary, "glossary.sql")
    uses = Counter(one for text in TEXTS for one in _entries(parse_header(text, "x.sql")))
    assert [entry.name for entry in _entries(shared) if uses[entry] < 2] == []
    spelt_out = [_spelt_out(text) & set(_entries(shared)) for text in TEXTS]
    assert [entries for entries in spelt_out if entries] == []


def _entries(header):
    return [*header.params, *header.columns]


def _spelt_out(text):
    lists = re.compile(r"^--   \w+(, \w+)*,?\n", re.MULTILINE)
    return set(_entries(parse_header(lists.sub("", text), "x.sql")))


@pytest.mark.slow
def test_names_that_a_parameter_may_have_are_in_the_store(connection):
    for name, query in QUERIES.items():
        for param in query.header.params:
            if param.names is not None:
                column = connection.table(param.names.table).project(param.names.column)
                assert column.fetchall() == [], name
            if param.relation is not None:
                assert param.relation.other in {other.name for other in query.header.params}, name


def _names(query):
    return {param.name for param in query.header.params}


def test_header_parameters_are_the_ones_used():
    texts = {name: duckdb_text(query.sql) for name, query in QUERIES.items()}
    statements = {name: duckdb.extract_statements(text) for name, text in texts.items()}
    used = {name: [one.named_parameters for one in found] for name, found in statements.items()}
    assert used == {name: [_names(query)] for name, query in QUERIES.items()}


def test_every_use_of_a_parameter_is_cast_to_its_declared_type():
    casts, wanted = {}, {}
    for name, query in QUERIES.items():
        sql = _without_comments(query.sql)
        types = {param.name: CASTS.get(param.type, param.type) for param in query.header.params}
        casts[name] = re.findall(r"CAST\(:(\w+) AS ([\w<>]+)\)", sql)
        wanted[name] = [(use, types[use]) for use in re.findall(r"(?<!:):(\w+)", sql)]
    assert casts == wanted


def test_queries_are_one_select_with_a_final_order(connection):
    orders = {name: _orders(connection, query) for name, query in QUERIES.items()}
    assert {name: first for name, (first, *_) in orders.items()} == dict.fromkeys(
        QUERIES, "ORDER_MODIFIER"
    )


def _orders(connection, query):
    text = duckdb_text(query.sql)
    (statement,) = duckdb.extract_statements(text)
    assert statement.type == duckdb.StatementType.SELECT
    tree = connection.execute("SELECT json_serialize_sql(?::VARCHAR)", [text]).fetchall()[0][0]
    (top,) = json.loads(tree)["statements"]
    return [modifier["type"] for modifier in top["node"]["modifiers"]]


def test_defaults_are_of_their_types():
    for name, query in QUERIES.items():
        assert bind_parameters(query, required(name)).keys() == _names(query)


def test_queries_take_the_filters_that_their_rows_can_be_told_apart_by():
    exempt = {
        "backend_comparison": {"backend"},
        "environment_changes": {"build"},
        "event_blocks": set(FILTERS),
        "exact_changes": {"build"},
        "ingest_errors": {"device", "pool", "build", "model", "backend", "tag"},
        "memory_deltas": {"build"},
        "page_facets": {"tag"},
        "numeric_divergence": {"build"},
        "run_shifts": {"build"},
        "run_timeline": set(FILTERS),
    }
    lacking = {name: set(FILTERS) - _names(query) for name, query in QUERIES.items()}
    assert {name: filters for name, filters in lacking.items() if filters} == exempt
