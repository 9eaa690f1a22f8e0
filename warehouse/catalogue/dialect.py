"""Translation of the .sql files for DuckDB; pure.

The files are written for Spark, in the subset of SQL that both engines interpret alike. This module
lists everything that DuckDB spells differently.

Sums of fractions depend on the order in which an engine adds them. `exact_sum(x)` is `sum(x)` of
DOUBLEs in the order of their values, the same to the last bit on any number of threads and on both
engines; `whole_sum(x)` is the same, but null if any value is null. Neither works in a window: order
the window's rows by `x`, with a frame of all rows, instead.
"""

from __future__ import annotations

import re

from warehouse.catalogue.ctes import closing_place

_SUMS = {"exact_sum(": "count({0}) > 0", "whole_sum(": "count({0}) = count(*)"}
_SUM = "CASE WHEN {1} THEN aggregate(array_sort(array_agg({0})), 0e0, (a, b) -> a + b) END"
_OF_DUCKDB = {
    "aggregate(array_sort(array_agg(": "list_sum(list_sort(list(",
    ", 0e0, (a, b) -> a + b)": ")",
    "ARRAY<STRING>": "STRING[]",
    "percentile(": "quantile_cont(",
    "regexp_like(": "regexp_matches(",
    "explode(": "unnest(",
    "array(": "list_value(",
    "get_json_object(": "json_extract_string(",
    "try_element_at(": "map_extract_value(",
    "element_at(": "list_extract(",  # of an array
    "'MAP<STRING, STRING>'": "'\"MAP(VARCHAR, VARCHAR)\"'",
}
_TOKENS = re.compile(
    "|".join([*map(re.escape, _OF_DUCKDB), r"'(?:[^']|'')*'|\"[^\"]*\"|--[^\n]*|/\*.*?\*/|::"])
    + r"|:([A-Za-z_]\w*)",
    re.DOTALL,
)


def with_sums(sql: str) -> str:
    """The text with each `exact_sum(x)` and `whole_sum(x)` expanded.

    >>> with_sums("SELECT whole_sum(f(a)) / 2")[:45]
    'SELECT CASE WHEN count(f(a)) = count(*) THEN '
    """
    for name, condition in _SUMS.items():
        first, *others = sql.split(name)
        for rest in others:
            end = closing_place(rest)
            summed = " ".join(rest[:end].split())
            first += _SUM.format(summed, condition.format(summed)) + rest[end + 1 :]
        sql = first
    return sql


def duckdb_text(sql: str) -> str:
    """The text for DuckDB; a parameter `:name` becomes `$name`.

    >>> duckdb_text("SELECT ':a', CAST(:a AS ARRAY<STRING>), b::INT -- :a")
    "SELECT ':a', CAST($a AS STRING[]), b::INT -- :a"
    """
    return _TOKENS.sub(_translated, sql)


def without_parameter(sql: str, name: str) -> str:
    """The text with NULL in place of a parameter.

    >>> without_parameter("SELECT ':a', CAST(:a AS INT), CAST(:ab AS INT)", "a")
    "SELECT ':a', CAST(NULL AS INT), CAST(:ab AS INT)"
    """
    return _TOKENS.sub(lambda match: "NULL" if match[1] == name else match[0], sql)


def _translated(match: re.Match[str]) -> str:
    return f"${match[1]}" if match[1] else _OF_DUCKDB.get(match[0], match[0])
