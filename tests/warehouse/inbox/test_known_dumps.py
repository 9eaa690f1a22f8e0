from __future__ import annotations

import pytest

from tests.support.stored_dumps import Stored, sha256_of
from tracehouse.warehouse.inbox import accept
from tracehouse.warehouse.inbox.accept import KnownDumps


def test_only_what_may_be_stored_is_looked_up() -> None:
    stored = Stored(1, 5, 2**64 - 1)
    known = KnownDumps(stored.index())
    wanted = [sha256_of(number) for number in (0, 1, 3, 2**64 - 1)]

    assert known.manifests(wanted) == {wanted[1]: "stored", wanted[3]: "stored"}
    assert stored.asked == [wanted[1], wanted[3]]


def test_another_dump_that_starts_alike_is_not_known() -> None:
    known = KnownDumps(Stored(1).index())

    assert known.manifests([sha256_of(1)[:16] + "f" * 48]) == {}


def test_an_accepted_dump_is_known_without_reading_the_store() -> None:
    stored = Stored()
    known = KnownDumps(stored.index())
    known.accept(sha256_of(1), "stated", 10)
    assert known.is_waiting(sha256_of(1))

    known.begin_draining()

    assert known.manifests([sha256_of(1)]) == {sha256_of(1): "stated"}
    assert (stored.asked, known.backlog_bytes, known.backlog_dumps) == ([], 10, 1)


def test_a_dump_being_indexed_counts_as_waiting_until_it_is_stored() -> None:
    stored = Stored()
    known = KnownDumps(stored.index())
    known.accept(sha256_of(1), "stated", 10)
    known.begin_draining()
    assert known.is_waiting(sha256_of(1))

    stored.add(1)

    assert not known.is_waiting(sha256_of(1))


@pytest.mark.parametrize("most_recent", [0, 100])
def test_drained_dumps_are_looked_up_in_the_store(
    most_recent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracehouse.warehouse.load.stored_dumps._MOST_RECENT", most_recent)
    stored = Stored(7)
    known = KnownDumps(stored.index())
    known.accept(sha256_of(1), "stated", 10)
    known.begin_draining()
    known.accept(sha256_of(2), "stated", 5)
    stored.add(1)
    known.end_draining()

    wanted = [sha256_of(number) for number in (1, 2, 3, 7)]
    assert known.manifests(wanted) == {
        wanted[0]: "stored",
        wanted[1]: "stated",
        wanted[3]: "stored",
    }
    assert [known.is_waiting(sha256) for sha256 in wanted[:2]] == [False, True]
    assert known.backlog_bytes == 5


def test_refused_dumps_are_not_known() -> None:
    known = KnownDumps(Stored().index())
    known.accept(sha256_of(1), "stated", 10)
    known.begin_draining()
    known.end_draining()

    assert known.manifests([sha256_of(1)]) == {}


def test_dumps_of_a_failed_drain_stay_in_the_backlog() -> None:
    known = KnownDumps(Stored().index())
    known.accept(sha256_of(1), "stated", 10)
    known.begin_draining()
    known.accept(sha256_of(2), "stated", 10)

    known.begin_draining()

    assert known.backlog_dumps == 2
    known.end_draining()
    assert (known.backlog_dumps, known.lag_seconds) == (0, 0.0)


def test_the_lag_is_that_of_the_oldest_waiting_dump(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(accept.time, "monotonic", lambda: now)
    known = KnownDumps(Stored().index())
    known.accept(sha256_of(1), "stated", 10)
    now = 103.0
    known.begin_draining()
    known.accept(sha256_of(2), "stated", 10)
    now = 104.0
    assert known.lag_seconds == 4.0

    known.end_draining()

    assert known.lag_seconds == 1.0


def test_a_dump_accepted_twice_counts_once_in_the_backlog() -> None:
    known = KnownDumps(Stored().index())
    known.accept(sha256_of(1), "stated", 10)
    known.accept(sha256_of(1), "stated", 10)

    assert (known.backlog_bytes, known.backlog_dumps) == (10, 1)


def test_dumps_indexed_during_a_drain_leave_the_backlog() -> None:
    known = KnownDumps(Stored().index())
    for number, size in ((1, 10), (2, 20)):
        known.accept(sha256_of(number), "stated", size)
    known.begin_draining()
    known.accept(sha256_of(3), "stated", 5)

    known.note_drained(12)
    assert known.backlog_bytes == 30 - 12 + 5
    known.note_drained(40)  # what came with the dumps is counted, too
    assert known.backlog_bytes == 5

    known.begin_draining()  # after it was broken off
    assert known.backlog_bytes == 35
    known.end_draining()
    assert known.backlog_bytes == 0
