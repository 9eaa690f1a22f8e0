"""Ad-hoc SQL: exactly one SELECT that only reads.

The statement type alone does not tell: since DuckDB 2.0 a CTE of a SELECT may hold a COPY, which
can overwrite any file, the store's own included. So the parsed tree is walked as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import duckdb

from warehouse.errors import StatementError

_READING_NODES = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}


def check_statement(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    """Pass if the text is one SELECT without anything that writes.

    Raises:
        StatementError: It does not parse, is several statements, or not only a SELECT.
    """
    try:
        statements = duckdb.extract_statements(text)
    except (duckdb.Error, ValueError) as error:
        raise StatementError(str(error)) from error
    if len(statements) != 1:
        raise StatementError(f"found {len(statements)} statements, wanted exactly one SELECT")
    if statements[0].type != duckdb.StatementType.SELECT:
        raise StatementError(f"found {statements[0].type.name}, wanted a SELECT")
    tree = connection.execute("SELECT json_serialize_sql(?::VARCHAR)", [text]).fetchall()[0][0]
    parsed = json.loads(tree)
    if parsed.get("error"):
        raise StatementError(f"{parsed['error_message']}, wanted a SELECT")
    for node in _query_nodes(parsed):
        if node not in _READING_NODES:
            raise StatementError(f"found a {node} inside the SELECT, wanted nothing that writes")


def _query_nodes(tree: object) -> Iterator[str]:
    """Types of all query nodes, at any depth."""
    if isinstance(tree, dict):
        type_ = tree.get("type")
        if isinstance(type_, str) and type_.endswith("_NODE"):
            yield type_
        for child in tree.values():
            yield from _query_nodes(child)
    elif isinstance(tree, list):
        for child in tree:
            yield from _query_nodes(child)
