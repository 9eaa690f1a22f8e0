from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from tests.support.stores import MANIFEST, contents, ingest, write
from tests.support.tiny_dumps import tiny_dump
from tracehouse import Warehouse
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.archive.entries import DECIDED, ERASED
from tracehouse.warehouse.archive.segments import read_entries
from tracehouse.warehouse.errors import QueryError
from tracehouse.warehouse.upkeep.choice import choose_dumps
from tracehouse.warehouse.upkeep.forget import forget_dumps
from tracehouse.warehouse.upkeep.rebuild import rebuild_store


@pytest.fixture
def decided(tmp_path: Path) -> Path:
    """A store with a dump, in which two decisions about a group were made."""
    store = tmp_path / "store"
    ingest(store, write(tmp_path / "in.etdp", tiny_dump(1)))
    with Warehouse.open_to_write(store) as warehouse:
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
    with Warehouse.open_to_write(decided) as warehouse:
        dumps = choose_dumps(warehouse.writing, where={"device": "pixel8"})
        forget_dumps(warehouse.writing, decided, dumps)
    assert contents(decided)["group_decisions"] == expected
    assert all(table.is_equal for table in rebuild_store(decided).tables)
    assert contents(decided)["group_decisions"] == expected


def test_a_decision_from_before_the_first_dump_is_in_a_rebuilt_store(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with Warehouse.open(store, create=True) as warehouse:
        warehouse.decide("g1", state="accepted", reason="as on the other farm")
    ingest(store, write(tmp_path / "in.etdp", tiny_dump(1)))
    assert all(table.is_equal for table in rebuild_store(store).tables)
    assert decisions(store) == [("g1", "accepted", "as on the other farm")]


def notes(store: Path) -> list[tuple[object, ...]]:
    with Warehouse.open(store, read_only=True) as warehouse:
        rows = warehouse.query("notes").to_pylist()
    return [(row["text"], row["written_by"], row["device"], row["ordinal"]) for row in rows]


def test_a_note_is_kept_by_a_rebuild_until_somebody_withdraws_it(tmp_path: Path) -> None:
    store = tmp_path / "store"
    ingest(store, write(tmp_path / "in.etdp", tiny_dump(1)))
    with Warehouse.open_to_write(store) as warehouse:
        on = {"build": "b1", "device": "pixel8"}
        note_id = warehouse.write_note("driver <update>", user="ann", **on)
        kept = warehouse.write_note("all", user="bob", build="b1", ordinal=2)
        with pytest.raises(QueryError, match="no dump has build 'b2', device 'pixel8': see "):
            warehouse.write_note("no", build="b2", device="pixel8")
    both = [("driver <update>", "ann", "pixel8", None), ("all", "bob", None, 2)]
    assert notes(store) == both
    assert all(table.is_equal for table in rebuild_store(store).tables)
    assert notes(store) == both
    with Warehouse.open_to_write(store) as warehouse:
        warehouse.withdraw_note(note_id)
        with pytest.raises(QueryError, match=f"no note '{note_id}': see 'tracehouse query notes'"):
            warehouse.withdraw_note(note_id)
    assert notes(store) == both[1:]
    assert all(table.is_equal for table in rebuild_store(store).tables)
    assert notes(store) == both[1:]
    assert note_id != kept


def test_forgetting_the_last_dump_of_a_point_erases_its_notes(tmp_path: Path) -> None:
    store = tmp_path / "store"
    for device in ("pixel8", "pixel9"):
        ingest(
            store,
            write(tmp_path / device, tiny_dump(ord(device[-1]))),
            manifest={**MANIFEST, "device": device},
        )
    with Warehouse.open_to_write(store) as warehouse:
        warehouse.decide("g1", state="accepted", reason="known")
        for device in ("pixel8", "pixel9"):
            warehouse.write_note(f"secret of {device}", build="b1", device=device)
        dumps = choose_dumps(warehouse.writing, where={"device": "pixel8"})
        forget_dumps(warehouse.writing, store, dumps)
    assert [row[0] for row in notes(store)] == ["secret of pixel9"]
    entries = [entry for file in Archive(store).files() for _, entry in read_entries(file)]
    found = [str(entry.detail) for entry in entries if entry.kind in (DECIDED, ERASED)]
    assert [any(word in text for text in found) for word in ("pixel8", "pixel9", "known")] == [
        False,
        True,
        True,
    ]
    assert all(table.is_equal for table in rebuild_store(store).tables)
    assert [row[0] for row in notes(store)] == ["secret of pixel9"]


def test_a_store_without_archive_takes_decisions_of_known_states(store: Path) -> None:
    with Warehouse.open_to_write(store) as warehouse:
        with pytest.raises(QueryError, match="found 'ok', wanted one of: acknowledged, accepted, "):
            warehouse.decide("g2", state="ok", reason="")
        warehouse.decide("g2", state="reopened", reason="")
    assert decisions(store) == [("g2", "reopened", "")]


def test_points_of_a_note_are_found_in_any_form_of_unicode(tmp_path: Path) -> None:
    composed, decomposed = (unicodedata.normalize(form, "Büro") for form in ("NFC", "NFD"))
    store = tmp_path / "store"
    stated = MANIFEST | {"device": composed}
    ingest(store, write(tmp_path / "in.etdp", tiny_dump(1)), manifest=stated)
    with Warehouse.open_to_write(store) as warehouse:
        warehouse.write_note("driver", build="b1", device=decomposed)
    assert [device for _, _, device, _ in notes(store)] == [composed]
