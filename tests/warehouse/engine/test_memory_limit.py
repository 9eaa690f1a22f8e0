from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tracehouse import Warehouse
from tracehouse.warehouse.engine.memory_limit import MemoryLimit
from tracehouse.warehouse.errors import StoreError


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


def limit_of(connection: duckdb.DuckDBPyConnection) -> str:
    ((limit,),) = connection.execute("SELECT current_setting('memory_limit')").fetchall()
    return str(limit)


def test_a_raised_memory_limit_stays_while_it_is_in_use(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    memory = MemoryLimit(connection)
    assert limit_of(connection) == "64.0 MiB"
    with memory.raise_limit():
        with memory.raise_limit():
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
    with memory.raise_limit():
        memory.allow(1 << 30)
    memory.lower()
    assert limit_of(connection) == "1.0 GiB"
    with memory.raise_limit():
        assert limit_of(connection) == "1.0 GiB"
    memory.allow(1 << 50)
    assert limit_of(connection) == "2.0 GiB"
    memory.close()


def test_memory_in_use_is_released_by_a_later_lowering(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    memory = MemoryLimit(connection)
    connection.execute("SET temp_directory = ''")
    with memory.raise_limit():
        connection.execute("CREATE TABLE much AS SELECT hash(i) FROM range(20_000_000) AS t(i)")
    memory.lower()
    assert limit_of(connection) == "512.0 MiB"
    connection.execute("DROP TABLE much")
    memory.lower()
    assert limit_of(connection) == "64.0 MiB"
    memory.close()


def test_a_reader_has_the_limit_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Warehouse.open_to_write(tmp_path, create=True).close()
    monkeypatch.setenv("TRACEHOUSE_MEMORY", "300MiB")
    with Warehouse.open(tmp_path, read_only=True) as store:
        assert store.query("dumps").num_rows == 0
        assert limit_of(store._session.answering.connection("trusted")) == "300.0 MiB"


def test_a_limit_that_is_no_size_is_refused_with_an_example(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Warehouse.open_to_write(tmp_path, create=True).close()
    monkeypatch.setenv("TRACEHOUSE_MEMORY", "half")
    with (
        Warehouse.open(tmp_path, read_only=True) as store,
        pytest.raises(StoreError, match="TRACEHOUSE_MEMORY: 'half', wanted a size such as 512MB"),
    ):
        store.query("dumps")


def test_a_limit_is_kept_for_the_database_that_is_opened_at_last(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    memory = MemoryLimit(connection)
    with pytest.raises(ZeroDivisionError), memory.follow_reopen(lambda: connection):
        raise ZeroDivisionError
    with memory.raise_limit():  # nothing is open
        with memory.follow_reopen(lambda: connection):
            pass
        assert limit_of(connection) == "512.0 MiB"
    memory.close()
