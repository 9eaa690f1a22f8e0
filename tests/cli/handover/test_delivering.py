"""Dumps are handed over by several threads; what is at fault with one ends nothing else."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from cli.handover.delivering import hand_over, service_uploader
from cli.remote.choice import ServiceChoice
from ingest.dump import Dump
from ingest.errors import ManifestError, ServiceError, SourceError
from ingest.manifest.models import Manifest
from tests.support.stand_in_service import Refused, StandIn
from tests.support.tiny_dumps import tiny_dump, tiny_incoming


def nameless() -> Manifest:
    raise ManifestError("b.etdp", "no device")


def test_dumps_come_out_in_their_order_and_several_are_on_their_way_at_once() -> None:
    together = threading.Barrier(3)

    def take(incoming: Dump) -> bool:
        together.wait(60)
        return incoming.name != "2.etdp"

    made = list(hand_over([tiny_incoming(i) for i in range(6)], take, threads=3))
    assert [(one.name, one.is_new) for one in made] == [(f"{i}.etdp", i != 2) for i in range(6)]


def test_few_wait_for_their_turn() -> None:
    begun: list[int] = []

    def dumps() -> Iterator[Dump]:
        for number in range(1000):
            begun.append(number)
            yield tiny_incoming(number % 5)

    results = hand_over(dumps(), lambda _: True, threads=2)
    next(results)
    assert len(begun) < 20
    results.close()  # type: ignore[attr-defined]


def test_a_fault_of_a_dump_is_its_refusal(service: StandIn) -> None:
    dumps = [
        tiny_incoming(1),
        Dump.unreadable(SourceError("gone.etdp", "does not exist")),
        Dump("b.etdp", lambda: b"", nameless),
        tiny_incoming(2),
        tiny_incoming(1),
    ]
    service.refusals = [Refused(400, reason="truncated", detail="ends at 12")]
    with service_uploader(ServiceChoice(service.url), retry_seconds=0) as taker:
        made = list(hand_over(dumps, taker, threads=1))
    assert [(one.is_new, one.refusal and one.refusal[2:-1]) for one in made] == [
        (False, ("truncated", None, "ends at 12", None, made[0].refusal.refused_at)),  # type: ignore[union-attr]
        (False, ("unreadable", None, "does not exist", None, made[0].refusal.refused_at)),  # type: ignore[union-attr]
        (False, ("manifest", None, "no device", None, made[0].refusal.refused_at)),  # type: ignore[union-attr]
        (True, None),
        (True, None),
    ]
    assert {held["dump"] for held in service.held.values()} == {tiny_dump(1), tiny_dump(2)}


@pytest.mark.parametrize(
    ("refusal", "reason"),
    [(Refused(500, reason="internal"), "failed"), (Refused(403, reason="pool"), "pool")],
)
def test_a_failure_of_one_dump_does_not_stop_the_next(
    service: StandIn, refusal: Refused, reason: str
) -> None:
    service.refusals = [refusal]
    with service_uploader(ServiceChoice(service.url), retry_seconds=60) as taker:
        first, second = hand_over([tiny_incoming(1), tiny_incoming(2)], taker, threads=1)
    assert first.refusal is not None
    assert (first.refusal.reason, first.refusal.detail) == (reason, "not now")
    assert second.is_new


@pytest.mark.parametrize("status", [401, 403, 429, 503, 507])
def test_a_service_that_takes_nothing_ends_it(service: StandIn, status: int) -> None:
    service.refusals = [Refused(status)] * 1000
    with (
        service_uploader(ServiceChoice(service.url), retry_seconds=0) as taker,
        pytest.raises(ServiceError, match=str(status)),
    ):
        list(hand_over([tiny_incoming(i) for i in range(200)], taker, threads=2))
    assert len(service.asked) < 50


def test_each_thread_keeps_its_connection(service: StandIn) -> None:
    with service_uploader(ServiceChoice(service.url), retry_seconds=0) as taker:
        assert all(hand_over([tiny_incoming(i) for i in range(40)], taker, threads=3))
    assert service.connections <= 3
