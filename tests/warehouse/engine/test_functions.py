import duckdb
import pytest

from tracehouse import Warehouse
from tracehouse.warehouse.engine.sql_functions import FUNCTIONS, named_functions, register_functions

ALL = " ".join(f"{function.name}()" for function in FUNCTIONS)


@pytest.fixture(scope="module")
def database():
    with duckdb.connect() as database:
        register_functions(database, ALL)
        yield database


@pytest.fixture
def connection(database):
    database.execute("DROP TABLE IF EXISTS pairs")
    return database


def _ask(connection, expression, *values):
    return connection.execute(f"SELECT {expression}", values).fetchone()[0]


def test_statistics_functions_without_values_give_null(connection):
    assert _ask(connection, "find_gap($1::DOUBLE[])", [1.0]) is None
    assert _ask(connection, "find_gap($1::DOUBLE[])", None) is None
    assert _ask(connection, "smallest_change($1::DOUBLE[])", None) is None
    assert _ask(connection, "variance_components($1::DOUBLE[][])", None) is None
    assert _ask(connection, "steadiness($1::BIGINT[], $2::DOUBLE[], 0)", None, None) is None
    assert _ask(connection, "steadiness($1::BIGINT[], $2::DOUBLE[], 1)", [3], [5.0]) is None


def test_steadiness_is_that_of_values_in_the_order_of_their_places(connection):
    ask = "steadiness($1::BIGINT[], $2::DOUBLE[], 2)"
    found = _ask(connection, ask, [4, 1, 5, 2, 3], [20.0, 99.0, 30.0, 99.0, 10.0])
    assert (found["typical"], found["drift"]) == (20, 2)


def test_functions_may_be_registered_twice_and_are_seen_by_transactions(connection):
    cursor = connection.cursor()
    cursor.execute("BEGIN TRANSACTION READ ONLY")
    register_functions(connection, ALL)
    assert _ask(cursor, "smallest_change([0.0])") is None
    cursor.execute("ROLLBACK")


def test_a_statement_names_the_functions_that_it_calls():
    named = named_functions("SELECT find_gap(y), smallest_chang (1) FROM t")
    assert [function.name for function in named] == ["find_gap"]


def test_user_statements_may_call_our_functions(tmp_path):
    with Warehouse.open(tmp_path / "s", create=True) as store:
        found = store.sql("SELECT Find_Gap ($a).width AS s", {"a": [0.0, 0.01] * 9 + [0.5] * 9})
    assert found.to_pylist() == [{"s": pytest.approx(0.49)}]
