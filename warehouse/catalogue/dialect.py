"""The text of our .sql files for DuckDB; pure.

It is written as Spark takes it, in the part of the language that both engines understand alike.
What they spell differently is listed here, and nothing else may differ.
"""

from __future__ import annotations

import re

_OF_DUCKDB = {
    "ARRAY<STRING>": "STRING[]",
    "percentile(": "quantile_cont(",
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


def duckdb_text(sql: str) -> str:
    """The text as DuckDB takes it; a parameter `:name` is its `$name`.

    >>> duckdb_text("SELECT ':a', CAST(:a AS ARRAY<STRING>), b::INT -- :a")
    "SELECT ':a', CAST($a AS STRING[]), b::INT -- :a"
    """
    return _TOKENS.sub(_translated, sql)


def without_parameter(sql: str, name: str) -> str:
    """The text where a parameter is never given.

    >>> without_parameter("SELECT ':a', CAST(:a AS INT), CAST(:ab AS INT)", "a")
    "SELECT ':a', CAST(NULL AS INT), CAST(:ab AS INT)"
    """
    return _TOKENS.sub(lambda match: "NULL" if match[1] == name else match[0], sql)


def _translated(match: re.Match[str]) -> str:
    return f"${match[1]}" if match[1] else _OF_DUCKDB.get(match[0], match[0])
