"""What ad-hoc SQL may call is a list: everything else of DuckDB is refused."""

from __future__ import annotations

import re
import time
from pathlib import Path

import duckdb
import pytest

from tracehouse.warehouse.catalogue.dialect import duckdb_text
from tracehouse.warehouse.catalogue.queries import load_catalogue
from tracehouse.warehouse.catalogue.views import load_views
from tracehouse.warehouse.engine.sql_functions import (
    FILE_FUNCTIONS,
    FUNCTIONS,
    SYSTEM_VIEWS,
    TABLE_FUNCTIONS,
    VALUE_FUNCTIONS,
)
from tracehouse.warehouse.engine.statements import check_statement
from tracehouse.warehouse.errors import StatementError

ROOT = Path(__file__).parents[3]
# Known to DuckDB's parser or binder, but not to duckdb_functions().
OF_THE_PARSER = {
    *("->", "cume_dist", "dense_rank", "fill", "first_value", "lag", "last_value", "lead"),
    *("nth_value", "ntile", "percent_rank", "rank", "rank_dense", "row_number"),
}
RECIPES = [
    recipe
    for document in (ROOT / "docs/sql-recipes.md", ROOT / "docs/tutorial.md", ROOT / "README.md")
    for recipe in re.findall(r"^```sql\n(.*?)^```", document.read_text(), re.DOTALL | re.MULTILINE)
]
SPELLINGS = (
    "SELECT x NOT ILIKE 'a', x GLOB 'a', a -> 'b', a ->> 'b', 5!, ~1, @ -1, 2 ** 3, 7 // 2",
    "SELECT 2 ^ 3, 7 % 2, a || b, x[1], x[1:2]",
    "SELECT x ~ 'a', x !~~ 'b', x LIKE 'a' ESCAPE 'b', x SIMILAR TO 'a'",
    "SELECT a <-> b, a <=> b, a <@ b, a @> b, a && b, a ^@ b, a & b, a | b, a << 1, a >> 1, -a, +a",
    "SELECT extract(year FROM x), position('a' IN 'b'), trim(BOTH 'a' FROM 'b'), x COLLATE de",
    "SELECT rank() OVER w, lag(x) OVER w, sum(x) OVER w FROM t WINDOW w AS (ORDER BY y)",
    "SELECT x = ANY([1]), x IN (1), ARRAY(SELECT 1), [y FOR y IN x IF y > 1], {'a': 1}, MAP {1: 2}",
    "SELECT current_timestamp, INTERVAL '1' DAY, x AT TIME ZONE 'UTC', CAST(x AS JSON), x::INT[]",
)


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def test_all_allowed_functions_exist_in_duckdb(connection: duckdb.DuckDBPyConnection) -> None:
    def names(text: str) -> set[str]:
        return {name for (name,) in connection.execute(text).fetchall()}

    functions = "SELECT lower(function_name) FROM duckdb_functions()"
    assert (
        names(functions)
        >= VALUE_FUNCTIONS - {function.name for function in FUNCTIONS} - OF_THE_PARSER
    )
    of_tables = names(f"{functions} WHERE function_type LIKE 'table%'")
    assert of_tables >= TABLE_FUNCTIONS | FILE_FUNCTIONS
    assert names("SELECT lower(view_name) FROM duckdb_views() WHERE internal") >= SYSTEM_VIEWS


def test_canned_queries_may_be_asked_by_anybody(connection: duckdb.DuckDBPyConnection) -> None:
    for query in load_catalogue().values():
        assert check_statement(connection, duckdb_text(query.sql)), query.header.name


def test_views_recipes_and_operators_may_be_asked(connection: duckdb.DuckDBPyConnection) -> None:
    for text in (*load_views().values(), *RECIPES, *SPELLINGS):
        assert check_statement(connection, text), text


def test_a_misspelt_function_is_reported_with_the_nearest_one(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    with pytest.raises(StatementError, match=r"calls cuont, .*; did you mean count\?"):
        check_statement(connection, "SELECT cuont(*)")


@pytest.mark.slow
def test_unknown_functions_are_refused_wherever_they_stand(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    refused = "SELECT lower(function_name) FROM duckdb_functions()"
    names = {name for (name,) in connection.execute(refused).fetchall()} - VALUE_FUNCTIONS
    answered = []
    for name in sorted(names):
        try:
            check_statement(connection, f'SELECT 1 ORDER BY "{name}"(1)')
            answered.append(name)
        except StatementError:
            continue
    assert answered == []


def test_many_comments_are_passed_over_in_linear_time(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    def cpu_seconds(count: int) -> float:
        start = time.process_time()
        check_statement(connection, "/**/" * count + " SELECT 1")
        return time.process_time() - start

    few, many = (min(cpu_seconds(count) for _ in range(3)) for count in (4_000, 64_000))
    assert many < 64 * few  # 16 times as many take up to 16 times as long, or 256 times if squared
