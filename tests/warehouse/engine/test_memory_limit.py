from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from warehouse.engine.memory_limit import MemoryLimit


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


def limit_of(connection: duckdb.DuckDBPyConnection) -> str:
    ((limit,),) = connection.execute("SELECT current_setting('memory_limit')").fetchall()
    return str(limit)


def test_more_may_be_taken_while_somebody_asks(connection: duckdb.DuckDBPyConnection) -> None:
    memory = MemoryLimit(connection)
    assert limit_of(connection) == "64.0 MiB"
    with memory.raised():
        with memory.raised():
            memory.lower()
            assert limit_of(connection) == "512.0 MiB"
        memory.lower()
        assert limit_of(connection) == "512.0 MiB"
    memory.lower()
    assert limit_of(connection) == "64.0 MiB"
    memory.close()


def test_more_that_is_needed_may_be_taken_from_then_on(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    connection.execute("SET memory_limit = '2GiB'")
    memory = MemoryLimit(connection)
    memory.allow(1 << 20)
    memory.allow(0)
    memory.lower()
    assert limit_of(connection) == "65.0 MiB"
    with memory.raised():
        memory.allow(1 << 30)
    memory.lower()
    assert limit_of(connection) == "1.0 GiB"
    with memory.raised():
        assert limit_of(connection) == "1.0 GiB"
    memory.allow(1 << 50)
    assert limit_of(connection) == "2.0 GiB"
    memory.close()


def test_what_is_in_use_is_let_go_of_later(connection: duckdb.DuckDBPyConnection) -> None:
    memory = MemoryLimit(connection)
    connection.execute("SET temp_directory = ''")
    with memory.raised():
        connection.execute("CREATE TABLE much AS SELECT hash(i) FROM range(20_000_000) AS t(i)")
    memory.lower()
    assert limit_of(connection) == "512.0 MiB"
    connection.execute("DROP TABLE much")
    memory.lower()
    assert limit_of(connection) == "64.0 MiB"
    memory.close()
