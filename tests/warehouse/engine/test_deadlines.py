from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from tests.support.store_template import copy_new_store
from tracehouse import Warehouse
from tracehouse.warehouse.errors import ParameterError, SlowAnswerError

ENDLESS = "SELECT count(*) FROM range(1000000000000)"


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    """An empty store that is open for writing."""
    store = tmp_path_factory.mktemp("made") / "store"
    copy_new_store(store)
    with Warehouse.open_to_write(store) as opened:
        yield opened


def test_a_statement_beyond_its_deadline_is_interrupted(warehouse: Warehouse) -> None:
    reader = warehouse.reader()
    with pytest.raises(SlowAnswerError, match=r"takes more than 0\.1 s"), reader.within(0.1):
        reader.sql(ENDLESS)
    reader.close()
    assert warehouse.sql("SELECT 1 AS a").num_rows == 1


def test_a_question_ends_before_its_deadline_if_it_is_stopped(warehouse: Warehouse) -> None:
    reader, stop = warehouse.reader(), threading.Event()
    stop.set()
    with pytest.raises(SlowAnswerError), reader.within(60, stop):
        reader.sql(ENDLESS)
    reader.close()


def test_several_questions_have_one_deadline(warehouse: Warehouse) -> None:
    reader = warehouse.reader()
    with pytest.raises(SlowAnswerError), reader.within(0.1):
        ask_late(reader)
    reader.close()


def ask_late(reader: Warehouse) -> None:
    reader.sql("SELECT 1")
    threading.Event().wait(0.2)  # so that the deadline passes while nothing is asked
    reader.sql(ENDLESS)


def test_a_query_within_its_deadline_answers_or_fails_as_without_one(warehouse: Warehouse) -> None:
    with warehouse.within(60):
        assert warehouse.query("dumps").num_rows == 0
    with pytest.raises(ParameterError), warehouse.within(60):
        warehouse.query("dumps", device="nobody")


def test_a_deadline_leaves_no_thread_behind(warehouse: Warehouse) -> None:
    before = threading.active_count()
    with warehouse.within(60):
        assert threading.active_count() == before + 1
    assert threading.active_count() == before
