from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.stores import contents, ingest, write
from tests.support.tiny_dumps import tiny_dump
from warehouse import Warehouse
from warehouse.errors import QueryError
from warehouse.upkeep.choice import choose_dumps
from warehouse.upkeep.forget import forget_dumps
from warehouse.upkeep.rebuild import rebuild_store


@pytest.fixture
def decided(tmp_path: Path) -> Path:
    """A store with a dump, in which two decisions about a group were made."""
    store = tmp_path / "store"
    ingest(store, write(tmp_path / "in.etdp", tiny_dump(1)))
    with Warehouse.open(store) as warehouse:
        warehouse.decide("g1", state="acknowledged", reason="we look into it")
        warehouse.decide("g1", state="accepted", reason="the new 'kernel' is more exact")
    return store


def decisions(store: Path) -> list[tuple[object, ...]]:
    return [row[:3] for row in sorted(contents(store)["group_decisions"], key=lambda row: row[4])]


def test_a_decision_is_on_record_with_time_and_user(decided: Path) -> None:
    assert decisions(decided) == [
        ("g1", "acknowledged", "we look into it"),
        ("g1", "accepted", "the new 'kernel' is more exact"),
    ]
    with Warehouse.open(decided, read_only=True) as warehouse:
        known = "decided_by <> '' AND decided_at BETWEEN now() - INTERVAL 1 HOUR AND now()"
        assert warehouse.sql(f"SELECT 1 FROM group_decisions WHERE {known}").num_rows == 2  # noqa: S608


@pytest.mark.slow
def test_decisions_stay_when_dumps_are_forgotten_and_the_store_is_rebuilt(decided: Path) -> None:
    expected = contents(decided)["group_decisions"]
    with Warehouse.open(decided) as warehouse:
        dumps = choose_dumps(warehouse.writing, where={"device": "pixel8"})
        forget_dumps(warehouse.writing, decided, dumps)
    assert contents(decided)["group_decisions"] == expected
    assert all(table.is_equal for table in rebuild_store(decided).tables)
    assert contents(decided)["group_decisions"] == expected


def test_a_store_without_archive_takes_decisions_of_known_states(store: Path) -> None:
    with Warehouse.open(store) as warehouse:
        with pytest.raises(QueryError, match="found 'ok', wanted one of: acknowledged, accepted, "):
            warehouse.decide("g2", state="ok", reason="")
        warehouse.decide("g2", state="reopened", reason="")
    assert decisions(store) == [("g2", "reopened", "")]
