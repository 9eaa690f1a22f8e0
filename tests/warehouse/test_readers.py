from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.support.tiny_dumps import tiny_incoming
from tests.support.waiting import until
from tracehouse import Warehouse
from tracehouse.warehouse.readers import ReaderPool

_COUNT = "SELECT count(*) AS n FROM dumps"


def test_an_idle_reader_is_lent_again_unless_its_query_failed(store: Path) -> None:
    with Warehouse.open_to_write(store) as warehouse:
        pool = ReaderPool(warehouse, store)
        with pool.lend() as first, pool.lend() as second:
            assert first is not second
        with pool.lend() as third:
            assert third in (first, second)
        with pytest.raises(ZeroDivisionError), pool.lend():
            raise ZeroDivisionError
        assert [len(readers) for readers in pool._idle.values()] == [1]
        pool.close()
        assert not any(pool._idle.values())


def test_a_reader_of_device_pools_is_lent_to_those_alone(store: Path) -> None:
    pools = frozenset({"none"})
    with Warehouse.open_to_write(store) as warehouse:
        warehouse.ingest([tiny_incoming(1)])
        pool = ReaderPool(warehouse, store)
        for _ in range(2):
            with pool.lend(pools) as limited, pool.lend() as reader:
                assert [one.sql(_COUNT)["n"].to_pylist() for one in (limited, reader)] == [[0], [1]]
        warehouse.snapshot()
        with pool.reopening(), pool.lend(pools) as limited:
            assert limited.sql(_COUNT)["n"].to_pylist() == [0]
        pool.close()


def test_while_a_store_is_reopened_its_snapshot_is_read(store: Path) -> None:
    with Warehouse.open_to_write(store) as warehouse:
        warehouse.snapshot()
        pool, events = ReaderPool(warehouse, store), list[str]()

        def reopen() -> None:
            with pool.reopening():
                events.append("alone")
                with pool.lend() as reader:
                    assert reader.snapshot_time is not None
                    events.append(f"{reader.sql(_COUNT).to_pylist()}")

        with pool.lend() as reader:
            thread = threading.Thread(target=reopen)
            thread.start()
            until(lambda: pool._is_reopened)
            events.append(f"{reader.sql(_COUNT).to_pylist()}")
        thread.join()
        with pool.lend() as reader:
            assert reader.snapshot_time is None
        pool.close()
    assert events == [events[0], "alone", events[0]]


def test_while_a_store_cannot_be_reopened_its_snapshot_is_read(store: Path) -> None:
    with Warehouse.open_to_write(store) as warehouse:
        warehouse.snapshot()
        pool = ReaderPool(warehouse, store)
        with pytest.raises(ZeroDivisionError), pool.reopening():
            raise ZeroDivisionError
        with pool.lend() as reader:
            assert reader.snapshot_time is not None
        with pool.reopening():
            pass
        with pool.lend() as reader:
            assert reader.snapshot_time is None
        pool.close()
