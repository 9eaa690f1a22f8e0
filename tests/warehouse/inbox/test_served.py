from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.full_disk import no_room
from tests.support.tiny_dumps import tiny_dump, tiny_incoming
from tracehouse import Warehouse
from tracehouse.ingest.dump import Dump
from tracehouse.ingest.errors import SourceError
from tracehouse.warehouse.errors import FullDiskError
from tracehouse.warehouse.inbox import inbox as serving
from tracehouse.warehouse.inbox.inbox import (
    FoundService,
    find_service,
    hand_over,
    is_served,
    mark_served,
)


def test_a_store_is_served_for_as_long_as_it_is(store: Path) -> None:
    assert not is_served(store)
    with mark_served(store):
        assert is_served(store)
    assert not is_served(store)


def test_a_service_is_found_by_the_owner_of_its_store_for_as_long_as_it_runs(store: Path) -> None:
    found = FoundService("http://127.0.0.1:1", "key")
    with mark_served(store) as announce:
        assert find_service(store) is None
        announce(found)
        assert find_service(store) == found
        assert (store / "served").stat().st_mode & 0o777 == 0o600
    assert find_service(store) is None
    with mark_served(store):  # another program, such as watch
        assert find_service(store) is None


def test_a_mark_on_a_full_disk_is_written_into_the_room_of_the_one_before(store: Path) -> None:
    with mark_served(store) as announce:
        announce(FoundService("http://127.0.0.1:10000", "key"))
    size = (store / "served").stat().st_size
    with mark_served(store) as announce:
        assert (store / "served").read_bytes() == b" " * size
        assert find_service(store) is None
        announce(FoundService("http://127.0.0.1:1", "key"))
        assert find_service(store) == FoundService("http://127.0.0.1:1", "key")


def test_an_unwritable_service_mark_is_reported(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mark_served(store) as announce:
        monkeypatch.setattr(os, "pwrite", no_room)
        with pytest.raises(FullDiskError, match="served: the disk is full"):
            announce(FoundService("http://127.0.0.1:1", "key"))


def test_dumps_are_handed_over_some_at_a_time(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "_GROUP_BYTES", 3 * len(tiny_dump(0)))

    summary = hand_over(store, map(tiny_incoming, range(8)))

    assert (summary.n_files, summary.refused) == (8, ())
    with Warehouse.open(store) as warehouse:
        assert warehouse.drain().n_dumps == 8


def test_unreadable_dumps_are_refused_and_the_others_handed_over(store: Path) -> None:
    bad: Dump = Dump.unreadable(SourceError("gone.etdp", "does not exist"))

    summary = hand_over(store, [bad, tiny_incoming(1)])

    (refusal,) = summary.refused
    assert (refusal.source, refusal.reason) == ("gone.etdp", "unreadable")
    with Warehouse.open(store) as warehouse:
        assert warehouse.drain().n_dumps == 1
