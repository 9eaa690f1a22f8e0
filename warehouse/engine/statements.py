"""Ad-hoc SQL: exactly one SELECT, or EXPLAIN of one, that reads only tables and views.

The statement type is not enough: since DuckDB 2.0 a CTE of a SELECT may contain a COPY, which can
overwrite any file, even the store; and functions run or bind other statements, write logs or read
files. Therefore a query of DuckDB, which handles any depth, also checks the parsed tree: statements
may use only the functions and system views that `sql_functions` lists.
"""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager

import duckdb
import pyarrow as pa

from tracehouse.warehouse.catalogue.queries import list_views
from tracehouse.warehouse.catalogue.views import named_views, reads_table
from tracehouse.warehouse.engine.connection import DATABASE, is_damage, reading
from tracehouse.warehouse.engine.sql_functions import (
    FILE_FUNCTIONS,
    SYSTEM_VIEWS,
    TABLE_FUNCTIONS,
    VALUE_FUNCTIONS,
    register_functions,
)
from tracehouse.warehouse.errors import StatementError

_READING_NODES = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
_OF_FILES = "; only 'tracehouse sql --allow-files' on a local store reads files"

_EXPLAIN = re.compile(
    r"(?:\s|--[^\n]*\n|/\*.*?\*/)*+explain\b(?P<analyze>\s+analyze\b)?", re.IGNORECASE | re.DOTALL
)

# Every relevant text in the tree, with the number of its object.
_TREE = """
SELECT id, parent, key, atom ->> '$' FROM json_tree(json_serialize_sql(?::VARCHAR))
WHERE key IN ('type', 'function', 'function_name', 'table_name', 'schema_name', 'error_message')
"""
_VIEWS = """
SELECT lower(view_name), internal FROM duckdb_views() WHERE internal OR database_name = ?
"""


def check_statement(
    connection: duckdb.DuckDBPyConnection, text: str, *, allow_files: bool = False
) -> str:
    """The text to run: one SELECT without side effects, or EXPLAIN of one.

    Args:
        connection: The connection that will run the statement.
        text: The statement.
        allow_files: Allow functions that read files.

    Raises:
        StatementError: The text does not parse, has several statements, or is not just a SELECT.
    """
    explain = _EXPLAIN.match(text)
    if explain and _kind(connection, text) == "EXPLAIN":
        # The SELECT is checked by itself, and EXPLAIN is put before it again.
        prefix = "EXPLAIN ANALYZE" if explain["analyze"] else "EXPLAIN"
        return f"{prefix} {_check_select(connection, text[explain.end() :], allow_files)}"
    return _check_select(connection, text, allow_files)


def answer_statement(
    connection: duckdb.DuckDBPyConnection,
    text: str,
    params: Mapping[str, object] | Sequence[object] | None,
    *,
    allow_files: bool = False,
) -> pa.Table:
    """Rows of a statement that `check_statement` accepts.

    Raises:
        StatementError: The statement is not accepted, or fails.
        Error: DuckDB's own, if the store's file turns out to be damaged.
    """
    with _select(connection, text, params, allow_files=allow_files) as relation:
        return relation.to_arrow_table()


@contextmanager
def streamed_answer(
    connection: duckdb.DuckDBPyConnection,
    text: str,
    params: Mapping[str, object] | Sequence[object] | None,
    *,
    batch_rows: int,
) -> Iterator[pa.RecordBatchReader]:
    """The rows of `answer_statement`, computed while the body reads them; raises the same errors.

    An OSError of the body counts as an error of DuckDB.
    """
    with (
        _select(connection, text, params) as relation,
        relation.to_arrow_reader(batch_rows) as batches,
    ):
        yield batches


@contextmanager
def _select(
    connection: duckdb.DuckDBPyConnection,
    text: str,
    params: Mapping[str, object] | Sequence[object] | None,
    *,
    allow_files: bool = False,
) -> Iterator[duckdb.DuckDBPyRelation]:
    """The relation of a statement that `check_statement` accepts.

    Raises:
        StatementError: The statement is not accepted, or fails.
        Error: DuckDB's own, if the store's file turns out to be damaged.
    """
    register_functions(connection, text)
    text = check_statement(connection, text, allow_files=allow_files)
    try:
        with reading(connection):
            relation = connection.sql(text, params=params)
            _check_types(relation)
            yield relation
    except duckdb.Error as error:
        if is_damage(error):
            raise
        raise StatementError(_with_view(str(error), text)) from error
    except OSError as error:  # an Arrow stream turns DuckDB's errors into OSErrors
        raise StatementError(str(error)) from error


def _with_view(problem: str, text: str) -> str:
    """The problem; if a column is unknown, with the views that have names instead of numbers."""
    if not problem.startswith("Binder Error") or "column" not in problem or "named_" in text:
        return problem
    named = (view for view in list_views() if view.startswith("named_"))
    views = [view for view in named if reads_table(text, view.removeprefix("named_"))]
    hint = f"; see {' and '.join(views)}, with names in place of numbers" if views else ""
    head, mark, excerpt = problem.partition("\n\nLINE ")
    return f"{head.rstrip()}{hint}{mark}{excerpt}"


def _check_types(relation: duckdb.DuckDBPyRelation) -> None:
    """Check that Arrow can represent the columns.

    Raises:
        StatementError: A column has integers that Arrow would silently change.
    """
    for name, type_ in zip(relation.columns, relation.types, strict=True):
        if "UHUGEINT" in str(type_):
            raise StatementError(
                f"column '{name}' is {type_}, which Arrow does not have: CAST it AS VARCHAR"
            )


def _check_select(connection: duckdb.DuckDBPyConnection, text: str, allow_files: bool) -> str:
    """The text, if it is a single SELECT that only reads.

    Raises:
        StatementError: The text is not such a SELECT.
    """
    kind = _kind(connection, text)
    if kind == "MULTI":
        raise StatementError(
            "a PIVOT that determines its columns is not a SELECT: name the columns, "
            "as in PIVOT t ON kind IN ('kernel', 'load') USING sum(n)"
        )
    if kind != "SELECT":
        raise StatementError(f"found {kind}, wanted a SELECT")
    functions = TABLE_FUNCTIONS | FILE_FUNCTIONS if allow_files else TABLE_FUNCTIONS
    try:
        rows = connection.execute(_TREE, [text]).fetchall()
        there = connection.execute(_VIEWS, [DATABASE]).fetchall()
    except duckdb.Error as error:
        raise StatementError(str(error)) from error
    made = named_views(text)
    views = {name: name in made for name, is_internal in there if not is_internal}
    hidden = {name for name, is_internal in there if is_internal} - SYSTEM_VIEWS
    for problem in _problems(rows, functions, views, hidden):
        raise StatementError(problem)
    return text


def _kind(connection: duckdb.DuckDBPyConnection, text: str) -> str:
    """The type of the statement: SELECT, EXPLAIN, MULTI if it expands to several, ...

    Raises:
        StatementError: The text does not parse, or has several statements.
    """
    try:
        kinds = [statement.type for statement in connection.extract_statements(text)]
    except duckdb.Error as error:
        raise StatementError(str(error)) from error
    except ValueError as error:  # a kind of statement that the Python module cannot name
        raise StatementError("found a command, wanted a SELECT") from error
    if len(kinds) != 1:
        raise StatementError(f"found {len(kinds)} statements, wanted exactly one SELECT")
    return str(kinds[0].name)


def _problems(
    rows: list[tuple[int, int | None, str, str | None]],
    table_functions: Set[str],
    views: Mapping[str, bool],
    hidden: Set[str],
) -> Iterator[str]:
    """The parts of a parsed statement that are not allowed."""
    objects: dict[int | None, dict[str, str]] = defaultdict(dict)
    for _, parent, key, value in rows:
        if value is not None:
            objects[parent][key] = value
    # Objects that are table functions.
    of_tables = {id_ for id_, _, key, _ in rows if key == "function"}
    for number, found in objects.items():
        functions = table_functions if number in of_tables else VALUE_FUNCTIONS
        yield from filter(
            None,
            (_bad_node(found), _bad_function(found, functions), _bad_view(found, views, hidden)),
        )


def _bad_node(found: Mapping[str, str]) -> str | None:
    if "error_message" in found:
        return f"{found['error_message']}, wanted a SELECT"
    type_ = found.get("type", "")
    if type_.endswith("_NODE") and type_ not in _READING_NODES:
        return f"found a {type_} inside the SELECT, wanted no statement that writes"
    return None


def _bad_function(found: Mapping[str, str], allowed: Set[str]) -> str | None:
    """Why a function is refused; None if it is `allowed`."""
    name = found.get("function_name", "").lower()
    if not name or name in allowed:
        return None
    if name in FILE_FUNCTIONS:
        remedy = _OF_FILES
    else:
        similar = difflib.get_close_matches(name, allowed, n=1, cutoff=0.8)
        remedy = f"; did you mean {similar[0]}?" if similar else ""
    return f"calls {name}, which is not an allowed function{remedy}"


def _bad_view(found: Mapping[str, str], views: Mapping[str, bool], hidden: Set[str]) -> str | None:
    """Why a view is refused; `views` tells of each view whether one of ours replaces it."""
    name = found.get("table_name", "").strip('"').lower()
    if name in views and (found.get("schema_name") or not views[name]):
        return f"'{name}' is a view that came with the store: write its SELECT instead"
    if name in hidden:
        return f"reads {name}, which is not an allowed system view"
    return None
