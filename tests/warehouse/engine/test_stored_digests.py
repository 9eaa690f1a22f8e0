from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.corpus import read_dump
from tests.support.stores import ingest, write
from tracehouse import Warehouse
from tracehouse.warehouse.engine.stored_digests import changed_tables, read_digests, refresh_digests

NAMES = ("mixed_portable_n20", "mixed_xnnpack_n20")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    for name in NAMES:
        write(folder / "dumps" / f"{name}.etdp", read_dump(f"real/{name}"))
    ingest(folder / "store", folder / "dumps")
    return folder / "store"


def test_digests_of_a_store_are_those_of_what_was_loaded(store: Path) -> None:
    with Warehouse.open_to_write(store) as warehouse:
        stored = warehouse.writing.sql("FROM dump_digests").to_arrow_table()
        assert stored.num_rows == 2
        assert changed_tables(stored, read_digests(warehouse.writing)) == {}
        assert changed_tables(stored, read_digests(warehouse.writing, [1, 2])) == {}


def test_only_the_tables_that_were_changed_on_purpose_get_new_digests(store: Path) -> None:
    with Warehouse.open_to_write(store) as warehouse:
        writing = warehouse.writing
        writing.execute("UPDATE events SET flags = 1 WHERE dump_id = 2")
        writing.execute("UPDATE runs SET n_events = 7 WHERE dump_id = 2")
        refresh_digests(writing, [2], ("events", "counters"))
        stored = writing.sql("FROM dump_digests").to_arrow_table()
        assert changed_tables(stored, read_digests(writing)) == {2: "runs"}


def test_dumps_of_one_side_alone_differ_in_all_tables_with_rows(store: Path) -> None:
    with Warehouse.open_to_write(store) as warehouse:
        one, both = read_digests(warehouse.writing, [1]), read_digests(warehouse.writing)
    assert set(changed_tables(one, both)) == set(changed_tables(both, one)) == {2}
