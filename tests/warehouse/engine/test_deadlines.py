from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.stores import ingest
from warehouse import Warehouse
from warehouse.errors import ParameterError, SlowAnswerError

ENDLESS = "SELECT count(*) FROM range(1000000000000)"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Warehouse]:
    """An empty store that is open for writing."""
    ingest(tmp_path / "store")
    with Warehouse.open(tmp_path / "store") as warehouse:
        yield warehouse


def test_what_takes_too_long_is_interrupted(store: Warehouse) -> None:
    reader = store.reader()
    with pytest.raises(SlowAnswerError, match=r"takes more than 0\.1 s"), reader.within(0.1):
        reader.sql(ENDLESS)
    reader.close()
    assert store.sql("SELECT 1 AS a").num_rows == 1


def test_several_questions_have_one_deadline(store: Warehouse) -> None:
    reader = store.reader()
    with pytest.raises(SlowAnswerError), reader.within(0.1):
        ask_late(reader)
    reader.close()


def ask_late(reader: Warehouse) -> None:
    reader.sql("SELECT 1")
    threading.Event().wait(0.2)  # so that the deadline passes while nothing is asked
    reader.sql(ENDLESS)


def test_what_is_in_time_is_answered_and_fails_as_ever(store: Warehouse) -> None:
    with store.within(60):
        assert store.query("dumps").num_rows == 0
    with pytest.raises(ParameterError), store.within(60):
        store.query("dumps", device="nobody")


def test_no_thread_is_left_behind(store: Warehouse) -> None:
    before = threading.active_count()
    with store.within(60):
        assert threading.active_count() == before + 1
    assert threading.active_count() == before
