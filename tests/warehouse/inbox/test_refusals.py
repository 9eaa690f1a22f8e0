from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from tracehouse import Warehouse
from tracehouse.ingest.dump import NOW, Refusal
from tracehouse.warehouse.inbox.refusals import (
    LEFT_OUT,
    LONGEST_DETAIL,
    MOST,
    REFILL_SECONDS,
    RefusalQueue,
    read_conflicts,
)


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def refusal(number: int, reason: str = "truncated", **more: object) -> Refusal:
    return Refusal(f"{number}.etdp", f"{number:064}", reason, 8, "cut")._replace(**more)


def take(queue: RefusalQueue) -> list[Refusal]:
    with queue.drain() as (refusals, _):
        assert all(one.refused_at is NOW or one.refused_at.tzinfo for one in refusals)
        return [one._replace(refused_at=NOW) for one in refusals]


def test_a_refusal_is_handed_on_once_without_its_bytes() -> None:
    queue = RefusalQueue()
    queue.refuse(refusal(1, data=b"x" * 9, detail="d" * 9999))
    queue.refuse(refusal(1, data=b"y" * 9, detail="d" * 9999))
    assert take(queue) == [refusal(1, detail="d" * LONGEST_DETAIL)]
    queue.refuse(refusal(1, detail="d" * 9999))
    assert take(queue) == []


def test_refusals_that_could_not_be_recorded_stay() -> None:
    queue = RefusalQueue()
    queue.refuse(refusal(1))
    with suppress(OSError), queue.drain():
        queue.refuse(refusal(2))
        raise OSError("full")
    assert take(queue) == [refusal(1), refusal(2)]


def test_too_many_refusals_are_only_counted_and_told_after_a_minute_and_each_hour() -> None:
    clock = Clock()
    queue = RefusalQueue(clock=clock)
    for number in range(MOST + 50):
        queue.refuse(refusal(number))
    assert len(take(queue)) == MOST
    assert take(queue) == []
    clock.now = 60.0
    (told,) = take(queue)
    assert (told.source, told.reason) == ("uploads", LEFT_OUT)
    assert told.detail.startswith("50 further uploads were refused")
    for number in range(2 * MOST):
        queue.refuse(refusal(-number))
    clock.now = 3600.0
    assert [one for one in take(queue) if one.reason == LEFT_OUT] == []
    clock.now = 3660.0
    (told,) = take(queue)
    assert told.reason == LEFT_OUT


def test_room_for_refusals_comes_back_with_time() -> None:
    clock = Clock()
    queue = RefusalQueue(clock=clock)
    for number in range(MOST + 1):
        queue.refuse(refusal(number))
    take(queue)
    clock.now = 2 * REFILL_SECONDS + 1
    for number in range(2 * MOST, 3 * MOST):
        queue.refuse(refusal(number))
    *recorded, _ = take(queue)  # the last one tells how many are left out
    assert [one.source for one in recorded] == [f"{2 * MOST}.etdp", f"{2 * MOST + 1}.etdp"]


def test_only_dumps_with_a_conflict_on_record_are_settled() -> None:
    queue = RefusalQueue([f"{1:064}"])
    queue.refuse(refusal(2, "conflict"))
    for number in (1, 2, 2, 3):
        queue.agree(f"{number}.etdp", f"{number:064}")
    with queue.drain() as (_, settled):
        assert settled == [(f"{number}.etdp", f"{number:064}") for number in (1, 2)]


def test_conflicts_on_record_are_read(store: Path) -> None:
    with Warehouse.open(store) as warehouse:
        warehouse.record_refusals([refusal(1, "conflict"), refusal(2)])
        assert read_conflicts(warehouse.writing) == [f"{1:064}"]
        warehouse.record_refusals([], settled=[("1.etdp", f"{1:064}")])
        assert read_conflicts(warehouse.writing) == []
