"""A fast check that the text of queries and views means the same to DuckDB and to Spark."""

import re
from importlib.resources import files

from tracehouse.warehouse.catalogue.header import parse_header
from tracehouse.warehouse.catalogue.sql_files import read_sql_files, read_statement

FILES = {
    path.name: path.read_text(encoding="utf-8")
    for folder in ("filters", "parts", "queries", "views")
    for path in sorted((files("tracehouse.sql") / folder).iterdir())
}
# What a report asks besides, and what a lake's own tables are made of.
STATEMENTS = {
    **read_sql_files("lake"),
    **{
        f"{name}.sql": read_statement(name)
        for name in (
            "exact_values",
            "fleet_values",
            "known_until",
            "modules_of_build",
            "recorded_environments",
            "wrong_clocks",
        )
    },
}

# What only one engine has, or both have and mean differently.
BANNED = {
    "functions": r"(?i)\b(quantile\w*|approx_\w+|arg_m(ax|in)|list\w*|string_agg"
    r"|group_concat|first|last|last_value|first_value|any_value|concat|regexp_\w+|log|log2"
    r"|skewness|kurtosis|hash|starts_with|startswith|sha\d+|epoch\w*|strftime|date_diff|datediff"
    r"|struct_\w+|named_struct|xor|generate_series|unnest|posexplode|mad|entropy"
    r"|histogram|columns|width_bucket|collect_list|listagg|typeof|factorial)\s*\(",
    "keywords": r"(?i)\b(asof|distinct\s+on|materialized|varchar|ignore\s+nulls|groups|exclude"
    r"|union\s+all\s+by|fetch\s+first|div|left\s+semi|hugeint)\b",
    "operators": r"//|\"|::|\[|->",
    "trailing commas": r",\s*(FROM|\))",
    "numbers that are decimals to Spark": r"(?<![\w(])\d+\.\d+(?!\d*e)\b",
    "numbers with separators": r"\b\d+_\d+\b",
    "casts that round": r"AS\s+(FLOAT|REAL|DECIMAL)",
    "like, whose escapes differ": r"(?i)\bI?LIKE\b",
    "an order within an aggregate": r"(?i)\b(array_agg|min_by|max_by)\s*\([^()]*\bORDER BY",
    "lists in no order": r"(?i)(?<!array_sort\()\barray_agg\s*\(",
    "several values counted as one": r"(?i)\bcount\s*\(\s*DISTINCT\s+[^()]*,",
    "divisions by what is 0 on one engine only": r"/\s*0(?![.\d])",
}


def _code(sql):
    return re.sub(r"'(?:[^']|'')*'", "''", re.sub(r"--[^\n]*", "", sql))


def test_texts_hold_nothing_on_which_the_engines_differ():
    found = {
        (name, what): found
        for name, text in (FILES | STATEMENTS).items()
        for what, banned in BANNED.items()
        if (found := re.findall(banned, _code(text)))
    }
    assert found == {}


def test_columns_that_can_be_null_say_where_nulls_sort():
    assert {name: keys for name in FILES if (keys := _keys_without_place_of_nulls(name))} == {}


def _keys_without_place_of_nulls(name):
    code = _code(FILES[name])
    nullable = {
        column.name
        for column in parse_header(FILES[name], name).columns
        if re.search(r"\bnull\b", column.doc)
    }
    order = code.rpartition("\nORDER BY")[2] if "\nORDER BY" in code else ""
    keys = [key.strip() for key in order.split(",") if key.strip()]
    columns = [key.partition(" ") for key in keys]
    return [
        column
        for column, _, rest in columns
        if column.rpartition(".")[2] in nullable and rest != "NULLS LAST"
    ]


def test_lines_fit_in_88_columns():
    lines = [(name, line) for name, text in FILES.items() for line in text.splitlines()]
    assert [(name, line) for name, line in lines if len(line) > 88] == []
